-- Bids of a bidder in each session; more than ten seconds without a bid end it.
WITH begun AS (
  SELECT
    bidder,
    "dateTime" AS t,
    coalesce(t - lag(t) OVER (PARTITION BY bidder ORDER BY t) > INTERVAL 10 SECONDS, true) AS first
  FROM bid
),
numbered AS (
  SELECT bidder, t, count_if(first) OVER (PARTITION BY bidder ORDER BY t) AS session FROM begun
)
SELECT
  bidder, count(*) AS bid_count, min(t) AS starttime, max(t) + INTERVAL 10 SECONDS AS endtime
FROM numbered
GROUP BY bidder, session
