-- Query 10: log to file system. Every bid, in folders by day and minute.
CREATE SINK q10 WITH (
  'connector' = 'file', 'path' = '${out}', 'format' = 'csv', 'partition.by' = 'dt, hm'
) AS
SELECT
  auction, bidder, price, `dateTime`, extra,
  date_format(`dateTime`, 'yyyy-MM-dd') AS dt, date_format(`dateTime`, 'HH:mm') AS hm
FROM bid;
