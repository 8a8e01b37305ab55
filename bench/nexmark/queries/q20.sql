-- Query 20: expand bid with auction. Bids for auctions of category 10, with the auction.
--
-- The public suite sets no bound. Here an auction is kept for as long as it may be bid for, and a bid
-- for as long as its auction may be about to begin: the generator says how long that is.
CREATE SINK q20 WITH ('connector' = 'noop') AS
SELECT
  b.auction, b.bidder, b.price, b.channel, b.url, b.`dateTime` AS bid_dateTime,
  b.extra AS bid_extra, a.itemName, a.description, a.initialBid, a.reserve,
  a.`dateTime` AS auction_dateTime, a.expires, a.seller, a.category, a.extra AS auction_extra
FROM bid b JOIN auction a
  ON b.auction = a.id
 AND b.`dateTime` BETWEEN a.`dateTime` - INTERVAL '${bids_before}' MICROSECONDS
                      AND a.`dateTime` + INTERVAL '${bids_after}' MICROSECONDS
WHERE a.category = 10;
