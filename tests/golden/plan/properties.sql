-- a misspelt property
SELECT o.order_id FROM orders o JOIN shipments s USING (order_id)
WITH ('join.uper_bound' = '24h')
--> MS-PROP-UNKNOWN at line 2, column 7: a query has no property 'join.uper_bound'. Did you mean 'join.upper_bound'?

-- a property of something else
SELECT order_id FROM orders WITH ('path' = 'x')
--> MS-PROP-UNKNOWN at line 1, column 35: a query has no property 'path'. It belongs to a source or a table or a sink with 'connector' = 'file'.

-- a property that nothing is like
SELECT order_id FROM orders WITH ('zzz' = 'x')
--> MS-PROP-UNKNOWN at line 1, column 35: a query has no property 'zzz'. The properties of a query are dead_letter.sink, engine, join.lower_bound, join.retention, join.salt, join.type, join.upper_bound, late.budget, late.policy, late.sink, on.error, output.mode, state.max_bytes, state.max_rows, state.on_limit, state.ttl, temporal.direction, temporal.tolerance, window.lateness.

-- a duration that is none
SELECT o.order_id FROM orders o JOIN shipments s USING (order_id) WITH ('join.upper_bound' = 'soon')
--> MS-PROP-VALUE at line 1, column 94: 'join.upper_bound' cannot be 'soon'. Use a duration such as -5m, 0s or 24h.

-- a value out of a list
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('late.policy' = 'keep')
--> MS-PROP-VALUE at line 1, column 106: 'late.policy' cannot be 'keep'. Use one of drop, reassign, side_output.

-- a property of a join without a join
SELECT order_id FROM orders WITH ('late.policy' = 'drop')
--> MS-PROP-UNUSED at line 1, column 35: 'late.policy' applies to stateful operators, and this query has none. Set it on the query with the join, aggregate or DISTINCT.

-- a limit's policy without a limit
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('state.on_limit' = 'evict')
--> MS-PROP-UNUSED at line 1, column 90: 'state.on_limit' applies to a limit of state, and none is set. Add 'state.max_rows' or 'state.max_bytes'.

-- retention that is too short
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.retention' = '1m')
--> MS-PLAN-RETENTION at line 1, column 109: 'join.retention' is 1m, but the bound [-5m, 5m] needs a retention of 5m. Set 5m or more, or remove it.

-- a late sink while late rows are dropped
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('late.sink' = 'late')
--> MS-PLAN-LATE-SINK at line 1, column 90: 'late.sink' names late, but late rows are dropped. Add 'late.policy' = 'side_output'.

-- a late sink that is not declared
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('late.policy' = 'side_output', 'late.sink' = 'late')
--> MS-PLAN-UNKNOWN-SINK at line 1, column 135: 'late.sink' names late, which is not declared. Add CREATE SINK late WITH (…);

-- an engine on an inner query
SELECT order_id FROM (SELECT order_id FROM orders WITH ('engine' = 'native')) x
--> MS-PLAN-ENGINE at line 1, column 22: 'engine' is set on an inner query. One engine runs the whole query: set it on the outermost query or with SET.

-- the columnar engine for a predicate that only Spark can decide
SELECT o.order_id FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND abs(o.total - s.weight) > 5 WITH ('engine' = 'columnar')
--> MS-PLAN-ENGINE at line 1, column 33: the columnar engine cannot run this join: ON of the LEFT JOIN has abs(o.total - s.weight): the columnar engine does not compute it for pairs of rows. Remove 'engine', or set it to 'native'.

-- the native engine for late rows
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('engine' = 'native', 'late.policy' = 'side_output')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark drops late rows, so they cannot go to a side output. Remove 'engine', or set it to 'columnar'.

-- the native engine for LEFT ANTI
SELECT o.order_id FROM orders o LEFT ANTI JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark has no LEFT ANTI join of two streams. Remove 'engine', or set it to 'columnar'.

-- the native engine for a limit
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('engine' = 'native', 'state.max_rows' = '10')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark cannot limit the state of a join. Remove 'engine', or set it to 'columnar'.

-- the native engine for a long retention
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('engine' = 'native', 'join.retention' = '1h')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark keeps rows for as long as the bound needs, not for 'join.retention'. Remove 'engine', or set it to 'columnar'.

-- a plan that neither engine can run
SELECT o.order_id FROM orders o LEFT ANTI JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND abs(o.total - s.weight) > 5
--> MS-PLAN-PREDICATE at line 1, column 108: ON of the ANTI JOIN has abs(o.total - s.weight): the columnar engine does not compute it for pairs of rows. The native engine cannot run the query either: Spark has no LEFT ANTI join of two streams. Compute each side's part of it in a CREATE STREAM, or write it with comparisons, + - * / %, CASE, LIKE, IN, IS NULL and casts to integers or DOUBLE.

-- a file source without a path
CREATE SOURCE s (id STRING) WITH ('connector' = 'file', 'format' = 'csv')
--> MS-PROP-MISSING at line 1, column 1: the source s does not say its 'path', which 'file' needs. Add 'path' = 'data/s'.

-- a file sink without a path
CREATE SINK out WITH ('connector' = 'file') AS SELECT total FROM orders
--> MS-PROP-MISSING at line 1, column 1: the sink out does not say its 'path', which 'file' needs. Add 'path' = 'data/out'.

-- a file table without a path
CREATE TABLE t (id STRING) WITH ('connector' = 'file')
--> MS-PROP-MISSING at line 1, column 1: the table t does not say its 'path', which 'file' needs. Add 'path' = 'data/t'.

-- a file of versions without a path
CREATE TABLE t (id STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH ('connector' = 'file');
CREATE SINK out AS SELECT o.total FROM orders o JOIN t FOR SYSTEM_TIME AS OF o.event_time ON o.order_id = t.id
--> MS-PROP-MISSING at line 1, column 1: the table t does not say its 'path', which 'file' needs. Add 'path' = 'data/t'.

-- a database with a path and a URL
CREATE TABLE t (id STRING) WITH ('connector' = 'sqlite', 'path' = 'x.db', 'url' = 'jdbc:sqlite:y.db')
--> MS-PROP-UNUSED at line 1, column 75: the table t has both 'path' and 'url', which name the same thing. Remove one of them.

-- a property of a query in WITH of the sink
CREATE SINK x WITH ('connector' = 'console', 'output.mode' = 'upsert') AS SELECT * FROM orders
--> MS-PROP-UNKNOWN at line 1, column 46: a sink has no property 'output.mode'. It belongs to a query: write CREATE SINK … AS SELECT … WITH ('output.mode' = 'upsert'), after the query.

-- a property of a source in WITH of a query
SELECT * FROM orders WITH ('idle.timeout' = '5s')
--> MS-PROP-UNKNOWN at line 1, column 28: a query has no property 'idle.timeout'. It belongs to a source or a table: write CREATE SOURCE … WITH ('idle.timeout' = '5s').

-- a property of a job in WITH of a query
SELECT * FROM orders WITH ('trigger' = '5s')
--> MS-PROP-UNKNOWN at line 1, column 28: a query has no property 'trigger'. It belongs to a job: write SET 'trigger' = '5s'.
