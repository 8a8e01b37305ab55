-- Every auction that was bid for while it ran, with its winning bid; of equal ones, the first.
SELECT
  auction.*, bid.auction, bid.bidder, bid.price,
  bid."dateTime" AS "bid_dateTime", bid.extra AS bid_extra
FROM auction
JOIN bid ON bid.auction = auction.id
WHERE bid."dateTime" >= auction."dateTime" AND bid."dateTime" <= auction.expires
QUALIFY row_number() OVER (PARTITION BY auction.id ORDER BY bid.price DESC, bid."dateTime") = 1
