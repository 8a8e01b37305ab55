-- The three streams of the auction house and the side input, as `millstream nexmark generate` writes
-- them. The runner puts this text before each query and fills in what stands in ${…}.
CREATE SOURCE person (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
  `dateTime` TIMESTAMP, extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '${delay}' MICROSECONDS
) WITH (
  'connector' = 'file', 'path' = '${data}/person', 'format' = '${format}', 'header' = 'false',
  'malformed' = 'fail', 'max.files.per.batch' = '${files}'
);

CREATE SOURCE auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
  `dateTime` TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '${delay}' MICROSECONDS
) WITH (
  'connector' = 'file', 'path' = '${data}/auction', 'format' = '${format}', 'header' = 'false',
  'malformed' = 'fail', 'max.files.per.batch' = '${files}'
);

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
  `dateTime` TIMESTAMP, extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '${delay}' MICROSECONDS
) WITH (
  'connector' = 'file', 'path' = '${data}/bid', 'format' = '${format}', 'header' = 'false',
  'malformed' = 'fail', 'max.files.per.batch' = '${files}'
);
