-- Each order with its shipment, upserted into a table of PostgreSQL.
CREATE SOURCE orders (
  order_id STRING,
  customer_id STRING,
  amount DECIMAL(10, 2),
  ordered_at TIMESTAMP,
  WATERMARK FOR ordered_at AS ordered_at - INTERVAL 1 MINUTE
) WITH ('connector' = 'kafka', 'bootstrap.servers' = '${kafka}', 'topic' = 'orders');

CREATE SOURCE shipments (
  shipment_id STRING,
  order_id STRING,
  carrier STRING,
  shipped_at TIMESTAMP,
  WATERMARK FOR shipped_at AS shipped_at - INTERVAL 1 MINUTE
) WITH ('connector' = 'kafka', 'bootstrap.servers' = '${kafka}', 'topic' = 'shipments');

CREATE SINK order_status WITH (
  'connector' = 'postgresql', 'url' = '${postgres}', 'user' = 'millstream', 'key.columns' = 'order_id'
) AS
SELECT o.order_id, o.customer_id, o.amount, o.ordered_at, s.shipment_id, s.carrier, s.shipped_at
FROM orders o
LEFT JOIN shipments s
  ON o.order_id = s.order_id
 AND s.shipped_at BETWEEN o.ordered_at AND o.ordered_at + INTERVAL 24 HOURS;
