CREATE SOURCE orders (
  order_id STRING, customer_id STRING, total DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
);
CREATE SOURCE shipments (
  order_id STRING, carrier STRING, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 10 SECONDS
);

CREATE STREAM once AS
SELECT DISTINCT ON (order_id) * FROM orders
WITH ('state.ttl' = '1h', 'late.policy' = 'reassign', 'late.budget' = '10s');

CREATE SINK totals AS
SELECT customer_id, COUNT(*) AS n, AVG(total) AS mean FROM once
GROUP BY customer_id WITH ('state.ttl' = '7d');

CREATE SINK spread AS
SELECT n, COUNT(*) AS customers FROM (
  SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x
GROUP BY n WITH ('state.ttl' = 'forever');

CREATE SINK leaders AS
SELECT order_id, total FROM orders
QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total DESC NULLS FIRST) <= 2
WITH ('state.ttl' = '1d');

CREATE SINK above AS
SELECT order_id, total, mean FROM (
  SELECT order_id, total, AVG(total) OVER (PARTITION BY customer_id ORDER BY event_time
    ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS mean FROM orders WITH ('state.ttl' = '1d')) x
WHERE total > mean;

CREATE SINK carriers AS
SELECT s.carrier, _window_end, COUNT(*) AS n FROM once o JOIN shipments s
  ON o.order_id = s.order_id
  AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 2 HOURS
WINDOW TUMBLING(INTERVAL 1 DAY) GROUP BY s.carrier;

CREATE SINK everything AS SELECT COUNT(*) AS n, MAX(total) AS most FROM orders;
