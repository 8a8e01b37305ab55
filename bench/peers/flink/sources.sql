-- Times in the files are to the microsecond, an event time of Flink's is to the millisecond.
CREATE TABLE person (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
  `dateTime` TIMESTAMP(6), extra STRING,
  rowtime AS CAST(`dateTime` AS TIMESTAMP(3)),
  WATERMARK FOR rowtime AS rowtime - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${data}/person', 'format' = 'csv');

CREATE TABLE auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
  `dateTime` TIMESTAMP(6), expires TIMESTAMP(6), seller BIGINT, category BIGINT, extra STRING,
  rowtime AS CAST(`dateTime` AS TIMESTAMP(3)),
  WATERMARK FOR rowtime AS rowtime - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${data}/auction', 'format' = 'csv');

CREATE TABLE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
  `dateTime` TIMESTAMP(6), extra STRING,
  rowtime AS CAST(`dateTime` AS TIMESTAMP(3)),
  proctime AS PROCTIME(),
  WATERMARK FOR rowtime AS rowtime - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${data}/bid', 'format' = 'csv');

CREATE TABLE side_input (`key` BIGINT, `value` STRING)
WITH ('connector' = 'filesystem', 'path' = '${data}/side_input', 'format' = 'csv');
