-- The auctions with the most bids in ten seconds, looked at every two seconds.
WITH counted AS (
  SELECT
    time_bucket(INTERVAL 2 SECONDS, "dateTime") - INTERVAL 2 SECONDS * back AS start,
    auction,
    count(*) AS num
  FROM bid, range(5) AS places(back)
  GROUP BY ALL
)
SELECT auction, num
FROM counted
QUALIFY rank() OVER (PARTITION BY start ORDER BY num DESC) = 1
