-- Joins each order with its shipment within a day; also emits orders without a shipment.
CREATE SOURCE orders (
  order_id STRING,
  customer STRING,
  amount DECIMAL(10, 2),
  ordered_at TIMESTAMP,
  WATERMARK FOR ordered_at AS ordered_at - INTERVAL 1 MINUTE
) WITH ('connector' = 'file', 'path' = 'data/orders', 'format' = 'csv');

CREATE SOURCE shipments (
  order_id STRING,
  carrier STRING,
  shipped_at TIMESTAMP,
  WATERMARK FOR shipped_at AS shipped_at - INTERVAL 1 MINUTE
) WITH ('connector' = 'file', 'path' = 'data/shipments', 'format' = 'csv');

CREATE SINK shipped WITH ('connector' = 'file', 'path' = 'out/shipped', 'format' = 'csv') AS
SELECT o.order_id, o.customer, o.amount, s.carrier, s.shipped_at
FROM orders o
LEFT JOIN shipments s
  ON o.order_id = s.order_id
 AND s.shipped_at BETWEEN o.ordered_at AND o.ordered_at + INTERVAL 24 HOURS;
