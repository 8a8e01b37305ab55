-- Query 9: winning bids. Every auction with the highest bid so far; of equal ones, the first.
CREATE SINK q9 WITH ('connector' = 'noop') AS
SELECT
  id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra,
  auction, bidder, price, bid_dateTime, bid_extra
FROM (
  SELECT
    a.id, a.itemName, a.description, a.initialBid, a.reserve, a.`dateTime`, a.expires, a.seller,
    a.category, a.extra, b.auction, b.bidder, b.price, b.`dateTime` AS bid_dateTime,
    b.extra AS bid_extra
  FROM auction a JOIN bid b
    ON a.id = b.auction
   AND b.`dateTime` BETWEEN a.`dateTime` AND a.`dateTime` + INTERVAL '${longest_auction}' MICROSECONDS
   AND b.`dateTime` <= a.expires
)
QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY price DESC, bid_dateTime) <= 1
EMIT CHANGES WITH ('state.ttl' = '${longest_auction} us');
