CREATE SOURCE orders (
  order_id STRING, currency STRING, total DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
);
CREATE SOURCE shipments (
  order_id STRING, carrier STRING, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 10 SECONDS
);
CREATE TABLE rates (
  currency STRING PRIMARY KEY, rate DOUBLE, op STRING, valid_from TIMESTAMP,
  WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE
) WITH ('changelog.op' = 'op');

CREATE SINK chain AS
SELECT o.order_id, s.carrier, p.carrier AS next_carrier, r.rate, o.event_time
FROM orders o
LEFT JOIN shipments s ON o.order_id = s.order_id
  AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 DAY
LEFT JOIN shipments p ON p.order_id = s.order_id
  AND p.event_time BETWEEN s.event_time AND s.event_time + INTERVAL 2 HOURS
LEFT JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.currency = r.currency;

CREATE SINK hourly AS
SELECT o.order_id, s.carrier, _window_start FROM orders o FULL JOIN shipments s USING (order_id)
WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 30 MINUTES)
EMIT FINAL WITH ('window.lateness' = '5m');

CREATE SINK overlapping AS
SELECT o.order_id, s.carrier FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR)
LEFT JOIN shipments s WINDOW SLIDING(SIZE INTERVAL 30 MINUTES, SLIDE INTERVAL 10 MINUTES)
  ON o.order_id = s.order_id;

CREATE SINK nearest AS
SELECT o.order_id, r.rate FROM orders o
JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.currency = r.currency
WITH ('temporal.direction' = 'nearest', 'temporal.tolerance' = '5m');
