CREATE SOURCE orders (
  order_id STRING, customer_id STRING, total DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
) WITH ('connector' = 'file', 'path' = 'data/orders', 'format' = 'csv',
        'idle.timeout' = '1m', 'watermark.every' = '100');

CREATE SINK late WITH ('connector' = 'file', 'path' = 'out/late', 'format' = 'json');

CREATE SINK hourly WITH ('connector' = 'file', 'path' = 'out/hourly', 'format' = 'json') AS
SELECT customer_id, _WINDOW_START, _WINDOW_END, COUNT(*) AS n, SUM(total) AS spent,
       COUNT(*) FILTER (WHERE total > 100) AS big, FIRST(order_id) IGNORE NULLS AS first_order
FROM orders WINDOW SLIDING(SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '10' MINUTE)
WHERE total > 0
GROUP BY customer_id
HAVING spent > 10
EMIT FINAL
WITH ('window.lateness' = '5m', 'late.policy' = 'side_output', 'late.sink' = 'late',
      'output.mode' = 'upsert', 'state.max_bytes' = '1000000000');

CREATE SINK visits AS
SELECT customer_id, _window_start, _window_end, MAX(total) AS most FROM orders
WINDOW SESSION(GAP INTERVAL '30' MINUTE) GROUP BY customer_id EMIT CHANGES;

CREATE SINK best AS
SELECT customer_id, n, place FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY _window_start, _window_end ORDER BY n DESC) AS place
  FROM (SELECT customer_id, _window_start, _window_end, COUNT(*) AS n FROM orders
        WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY customer_id) counted) ranked
WHERE place <= 3;

CREATE SINK clock AS
SELECT COUNT(*) AS n FROM orders WINDOW TUMBLING(INTERVAL '10' SECOND) ON PROCTIME();
