-- Bids between one and fifty million cents in euros, with the time of day and the number of c's.
SELECT
  auction,
  bidder,
  price * 0.908 AS price,
  CASE
    WHEN hour("dateTime") BETWEEN 8 AND 18 THEN 'dayTime'
    WHEN hour("dateTime") IN (7, 19) THEN 'otherTime'
    ELSE 'nightTime'
  END AS "bidTimeType",
  "dateTime",
  extra,
  length(regexp_replace(extra, '[^c]', '', 'g')) AS c_counts
FROM bid
WHERE price * 0.908 > 1000000 AND price * 0.908 < 50000000
