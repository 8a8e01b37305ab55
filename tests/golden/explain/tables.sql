SET 'checkpoint' = 'checkpoints/tables';
CREATE SOURCE orders (
  order_id STRING, customer_id STRING, country STRING, total DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
);
CREATE SOURCE shipments (
  order_id STRING, carrier STRING, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 10 SECONDS
);
CREATE TABLE customers (id STRING, region STRING, tier INT, active BOOLEAN, PRIMARY KEY (id)) WITH (
  'connector' = 'postgresql', 'url' = 'postgresql://me:hidden@db/shop?sslpassword=hidden', 'table' = 'crm.customers',
  'user' = 'me', 'password' = 'hidden', 'lookup.cache.rows' = '5000', 'lookup.cache.ttl' = '5m',
  'lookup.on_error' = 'side_output', 'dead_letter.sink' = 'letters'
);
CREATE TABLE countries (country STRING, tax DOUBLE) WITH (
  'connector' = 'file', 'path' = 'countries.csv', 'refresh.interval' = '1h', 'refresh.on' = 'change'
);
CREATE TABLE carriers (name STRING, phone STRING) WITH ('connector' = 'sqlite', 'path' = 'c.db', 'table.mode' = 'broadcast');
CREATE SINK letters WITH ('connector' = 'memory');
CREATE SINK enriched WITH ('connector' = 'console') AS
SELECT o.order_id, o.event_time, c.region, n.tax, p.phone
FROM orders o
LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c
  ON o.customer_id = c.id AND c.active AND c.tier < o.total
JOIN countries n ON n.country = upper(o.country)
JOIN shipments s ON s.order_id = o.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS
LEFT JOIN carriers p ON p.name = s.carrier
WHERE o.total > 10 AND c.region IN ('EU', 'US');
CREATE SINK strangers WITH ('connector' = 'console') AS
SELECT o.order_id FROM orders o LEFT ANTI JOIN customers c ON c.id = o.customer_id AND o.total > 100
