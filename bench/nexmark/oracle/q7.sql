-- The highest bids of every ten seconds. A bid just at the end belongs to both.
WITH highest AS (
  SELECT time_bucket(INTERVAL 10 SECONDS, "dateTime") AS start, max(price) AS price
  FROM bid
  GROUP BY ALL
)
SELECT bid.auction, bid.bidder, bid.price, bid."dateTime", bid.extra
FROM highest
JOIN bid
  ON bid.price = highest.price
 AND bid."dateTime" >= highest.start
 AND bid."dateTime" <= highest.start + INTERVAL 10 SECONDS
