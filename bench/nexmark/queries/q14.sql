-- Query 14: calculation. Bids of certain prices in euros, with the time of day and the number of c's.
CREATE SINK q14 WITH ('connector' = 'noop') AS
SELECT
  auction,
  bidder,
  0.908 * price AS price,
  CASE
    WHEN hour(`dateTime`) >= 8 AND hour(`dateTime`) <= 18 THEN 'dayTime'
    WHEN hour(`dateTime`) <= 6 OR hour(`dateTime`) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS bidTimeType,
  `dateTime`,
  extra,
  length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
