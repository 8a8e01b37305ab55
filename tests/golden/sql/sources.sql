-- a source with a watermark and a connector
CREATE SOURCE orders (
  order_id STRING, customer_id STRING, total_amount DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
) WITH ('connector' = 'file', 'path' = 'data/orders', 'format' = 'csv');
--> source orders
-->   columns order_id STRING, customer_id STRING, total_amount DOUBLE, event_time TIMESTAMP
-->   watermark event_time - 5s
-->   with connector = file
-->   with path = data/orders
-->   with format = csv

-- a watermark without a delay
CREATE SOURCE a (t TIMESTAMP, WATERMARK FOR t AS t);
--> source a
-->   columns t TIMESTAMP
-->   watermark t - 0s

-- a watermark on a quoted column, letter case aside
CREATE SOURCE a (`Event Time` TIMESTAMP, WATERMARK FOR `Event Time` AS `event time` - INTERVAL '1:30' MINUTE TO SECOND);
--> source a
-->   columns Event Time TIMESTAMP
-->   watermark Event Time - 1m 30s

-- a source without a watermark
CREATE SOURCE a (k STRING);
--> source a
-->   columns k STRING

-- nested and decimal types
CREATE SOURCE a (items ARRAY<STRUCT<sku: STRING, price: DECIMAL(10,2)>>, tags MAP<STRING, INT>, n BIGINT);
--> source a
-->   columns items ARRAY<STRUCT<sku: STRING, price: DECIMAL(10, 2)>>, tags MAP<STRING, INT>, n BIGINT

-- a versioned table
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency),
  WATERMARK FOR valid_from AS valid_from) WITH ('connector' = 'file', 'path' = 'rates');
--> table rates
-->   columns currency STRING, rate DOUBLE, valid_from TIMESTAMP
-->   watermark valid_from - 0s
-->   primary key currency
-->   with connector = file
-->   with path = rates

-- a lookup table with its key beside the column
CREATE TABLE customers (id BIGINT PRIMARY KEY, name STRING)
  WITH ('connector' = 'jdbc', 'lookup.cache.rows' = '10000', 'lookup.cache.ttl' = '10m');
--> table customers
-->   columns id BIGINT, name STRING
-->   primary key id
-->   with connector = jdbc
-->   with lookup.cache.rows = 10000
-->   with lookup.cache.ttl = 10m

-- numbers and booleans need no quotes as values
CREATE SOURCE a (k STRING) WITH ('header' = true, 'max.rows.per.batch' = 500);
--> source a
-->   columns k STRING
-->   with header = true
-->   with max.rows.per.batch = 500

-- a comment after the semicolon
CREATE SOURCE a (k STRING); -- the first
--> source a
-->   columns k STRING

-- a property specified twice
CREATE SOURCE a (k STRING) WITH ('path' = 'x', 'path' = 'y');
--> MS-SQL-PARSE at line 1, column 48: 'path' is specified twice, first at line 1, column 34.

-- a watermark of another column
CREATE SOURCE a (s TIMESTAMP, t TIMESTAMP, WATERMARK FOR t AS s);
--> MS-SQL-WATERMARK at line 1, column 44: the watermark of t is not t minus a fixed interval. Write WATERMARK FOR t AS t - INTERVAL 5 SECONDS, or AS t for no delay.

-- a watermark less a month
CREATE SOURCE a (t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 1 MONTH);
--> MS-SQL-WATERMARK at line 1, column 31: the watermark of t is not t minus a fixed interval. Write WATERMARK FOR t AS t - INTERVAL 5 SECONDS, or AS t for no delay.

-- a watermark in the future
CREATE SOURCE a (t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL -5 SECONDS);
--> MS-SQL-WATERMARK at line 1, column 31: the watermark of t is not t minus a fixed interval. Write WATERMARK FOR t AS t - INTERVAL 5 SECONDS, or AS t for no delay.

-- two watermarks
CREATE SOURCE a (s TIMESTAMP, t TIMESTAMP, WATERMARK FOR t AS t, WATERMARK FOR s AS s);
--> MS-SQL-WATERMARK at line 1, column 66: a has more than one watermark.

-- a source with a primary key
CREATE SOURCE a (k STRING, PRIMARY KEY (k));
--> MS-SQL-PARSE at line 1, column 1: the source a declares a primary key, and only a table can have one. Write CREATE TABLE, or remove the key.

-- an unknown type
CREATE SOURCE a (k STRNG);
--> MS-SQL-PARSE at line 1, column 20: unexpected "STRNG", expected a type for the column k.

-- a constraint
CREATE SOURCE a (k STRING NOT NULL);
--> MS-SQL-PARSE at line 1, column 27: unexpected "NOT", expected ).

-- no columns
CREATE SOURCE a WITH ('connector' = 'rate');
--> MS-SQL-PARSE at line 1, column 17: unexpected "WITH", expected (.

-- an unquoted property
CREATE SOURCE a (k STRING) WITH (path = 'x');
--> MS-SQL-PARSE at line 1, column 34: unexpected "path", expected a property as 'name' = 'value'.
