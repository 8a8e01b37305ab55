CREATE SOURCE readings (
  sensor STRING, value DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at
) WITH ('connector' = 'rate', 'rows.per.second' = '100');

CREATE STREAM warm AS SELECT sensor, value, at AS seen FROM readings WHERE value > 30 EMIT CHANGES;

CREATE SINK alarms WITH ('connector' = 'console') AS
SELECT w.sensor, w.seen FROM warm w
LEFT SEMI JOIN (SELECT sensor AS name, value, at FROM readings WHERE value > 90) hot
  WITHIN 10 MINUTES ON w.sensor = hot.name AND w.value + hot.value > 130
WITH ('engine' = 'native');

CREATE SINK copy AS SELECT * FROM warm;
