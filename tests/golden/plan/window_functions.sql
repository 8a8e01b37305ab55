-- window() of Spark
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id, window(event_time, '1 hour')
--> MS-PLAN-WINDOW at line 1, column 69: GROUP BY contains window(…); windows are a clause of the query. Write GROUP BY customer_id WINDOW TUMBLING(event_time, INTERVAL '1 hour'); its start and end are _WINDOW_START and _WINDOW_END.

-- window() with a slide
SELECT count(*) AS n FROM orders GROUP BY window(event_time, '1 hour', '10 minutes')
--> MS-PLAN-WINDOW at line 1, column 43: GROUP BY contains window(…); windows are a clause of the query. Write WINDOW SLIDING(event_time, SIZE INTERVAL '1 hour', SLIDE INTERVAL '10 minutes'); its start and end are _WINDOW_START and _WINDOW_END.

-- session_window()
SELECT customer_id, count(*) AS n FROM orders GROUP BY session_window(event_time, '5 minutes'), customer_id
--> MS-PLAN-WINDOW at line 1, column 56: GROUP BY contains session_window(…); windows are a clause of the query. Write GROUP BY customer_id WINDOW SESSION(event_time, INTERVAL '5 minutes'); its start and end are _WINDOW_START and _WINDOW_END.

-- TUMBLE of Flink
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id, TUMBLE(event_time, INTERVAL '1' HOUR)
--> MS-PLAN-WINDOW at line 1, column 69: GROUP BY contains TUMBLE(…); windows are a clause of the query. Write GROUP BY customer_id WINDOW TUMBLING(event_time, INTERVAL '1' HOUR); its start and end are _WINDOW_START and _WINDOW_END.

-- HOP of Flink
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id, HOP(event_time, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)
--> MS-PLAN-WINDOW at line 1, column 69: GROUP BY contains HOP(…); windows are a clause of the query. Write GROUP BY customer_id WINDOW SLIDING(event_time, SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '5' MINUTE); its start and end are _WINDOW_START and _WINDOW_END.

-- SESSION of Flink
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id, SESSION(event_time, INTERVAL '30' MINUTE)
--> MS-PLAN-WINDOW at line 1, column 69: GROUP BY contains SESSION(…); windows are a clause of the query. Write GROUP BY customer_id WINDOW SESSION(event_time, INTERVAL '30' MINUTE); its start and end are _WINDOW_START and _WINDOW_END.

-- window() without a size
SELECT count(*) AS n FROM orders GROUP BY window(event_time)
--> MS-PLAN-WINDOW at line 1, column 43: GROUP BY contains window(…); windows are a clause of the query. Write WINDOW TUMBLING(INTERVAL '1' HOUR); its start and end are _WINDOW_START and _WINDOW_END.

-- TABLE(TUMBLE(…)) of Flink
SELECT customer_id, count(*) AS n FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(event_time), INTERVAL '1' HOUR)) GROUP BY customer_id, window_start, window_end
--> MS-PLAN-WINDOW at line 1, column 40: TUMBLE is a table function of Flink; windows are a clause of the query. Write FROM orders WINDOW TUMBLING(event_time, INTERVAL '1' HOUR); its start and end are _WINDOW_START and _WINDOW_END, without GROUP BY of them.

-- HOP(…) of Flink
SELECT customer_id, count(*) AS n FROM HOP(TABLE orders, DESCRIPTOR(event_time), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES) GROUP BY customer_id, window_start, window_end
--> MS-PLAN-WINDOW at line 1, column 40: HOP is a table function of Flink; windows are a clause of the query. Write FROM orders WINDOW SLIDING(event_time, SIZE INTERVAL '10' MINUTES, SLIDE INTERVAL '5' MINUTES); its start and end are _WINDOW_START and _WINDOW_END, without GROUP BY of them.

-- the clause that the error of window() names
SELECT count(*) AS n FROM orders WINDOW SLIDING(event_time, SIZE INTERVAL '1 hour', SLIDE INTERVAL '10 minutes')
--> select
-->   a0 AS n : BIGINT
-->   aggregate, windows of 1h every 10m, emit final
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- the clause that the error of session_window() names
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WINDOW SESSION(event_time, INTERVAL '5 minutes')
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, sessions with a gap of 5m, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none
