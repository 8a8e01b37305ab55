-- Query 13: bounded side input join. Every bid with what a table says of its auction.
CREATE TABLE side_input (key BIGINT, value STRING, PRIMARY KEY (key)) WITH (
  'connector' = 'file', 'path' = '${data}/side_input', 'format' = '${format}', 'header' = 'false'
);

CREATE SINK q13 WITH ('connector' = 'noop') AS
SELECT b.auction, b.bidder, b.price, b.`dateTime`, s.value
FROM bid b
JOIN side_input FOR SYSTEM_TIME AS OF PROCTIME() AS s ON b.auction % 10000 = s.key;
