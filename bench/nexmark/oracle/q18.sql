-- The last bid of each bidder for each auction.
SELECT unnest(max_by(bid, "dateTime")) FROM bid GROUP BY bidder, auction
