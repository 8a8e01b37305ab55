SET 'checkpoint' = 'checkpoints/shipped';
SET 'key_groups' = '32';

CREATE SOURCE orders (
  order_id STRING, customer_id STRING, total_amount DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
) WITH ('connector' = 'file', 'path' = 'data/orders', 'format' = 'csv', 'event.missing' = 'skip');

CREATE SOURCE shipments (
  shipment_id STRING, order_id STRING, carrier STRING, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 10 SECONDS
) WITH ('connector' = 'file', 'path' = 'data/shipments', 'format' = 'csv',
        'dead_letter.sink' = 'bad');

CREATE SINK bad WITH ('connector' = 'file', 'path' = 'out/bad', 'format' = 'json');
CREATE SINK late WITH ('connector' = 'file', 'path' = 'out/late', 'format' = 'json');

CREATE SINK shipped WITH ('connector' = 'file', 'path' = 'out/shipped', 'format' = 'parquet') AS
SELECT o.order_id, o.customer_id, s.carrier, o.event_time AS ordered_at, s.event_time AS shipped_at
FROM orders o
LEFT JOIN shipments s
  ON o.order_id = s.order_id
  AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '24' HOUR
  AND o.total_amount > 0 AND s.carrier <> o.customer_id
EMIT CHANGES
WITH ('late.policy' = 'side_output', 'late.sink' = 'late', 'join.retention' = '48h',
      'state.max_rows' = '1000000', 'state.on_limit' = 'evict');
