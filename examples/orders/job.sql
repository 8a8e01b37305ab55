-- Every order with the shipments that left within a day of it.
CREATE SOURCE orders (
  order_id STRING,
  customer_id STRING,
  total_amount DECIMAL(10, 2),
  event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
) WITH ('connector' = 'file', 'path' = 'data/orders', 'format' = 'csv', 'header' = 'true');

CREATE SOURCE shipments (
  order_id STRING,
  shipment_id STRING,
  carrier STRING,
  tracking_number STRING,
  event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
) WITH ('connector' = 'file', 'path' = 'data/shipments', 'format' = 'csv', 'header' = 'true');

CREATE SINK shipped WITH (
  'connector' = 'file', 'path' = 'out/shipped', 'format' = 'csv', 'header' = 'true'
) AS
SELECT o.order_id, o.customer_id, o.total_amount, s.shipment_id, s.carrier, s.tracking_number
FROM orders o
JOIN shipments s
  ON o.order_id = s.order_id
 AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS;
