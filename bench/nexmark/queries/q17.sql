-- Query 17: auction statistics report. How many bids has an auction in a day, and of what price?
CREATE SINK q17 WITH ('connector' = 'noop') AS
SELECT
  auction,
  date_format(_WINDOW_START, 'yyyy-MM-dd') AS day,
  count(*) AS total_bids,
  count(*) FILTER (WHERE price < 10000) AS rank1_bids,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
  count(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
  min(price) AS min_price,
  max(price) AS max_price,
  CAST(avg(price) AS BIGINT) AS avg_price,
  sum(price) AS sum_price
FROM bid WINDOW TUMBLING(INTERVAL '1' DAY)
GROUP BY auction
EMIT CHANGES;
