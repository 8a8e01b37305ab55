-- Bids and prices of each auction and day; the average in whole cents.
SELECT
  auction,
  strftime("dateTime", '%Y-%m-%d') AS day,
  count(*) AS total_bids,
  count(*) FILTER (price < 10000) AS rank1_bids,
  count(*) FILTER (price BETWEEN 10000 AND 999999) AS rank2_bids,
  count(*) FILTER (price >= 1000000) AS rank3_bids,
  min(price) AS min_price,
  max(price) AS max_price,
  (sum(price) // count(*))::BIGINT AS avg_price,
  sum(price)::BIGINT AS sum_price
FROM bid
GROUP BY ALL
