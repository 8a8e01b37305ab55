-- Query 18: find last bid of a bidder for an auction.
--
-- A pair is forgotten once no bid can come for its auction any more.
CREATE SINK q18 WITH ('connector' = 'noop') AS
SELECT auction, bidder, price, channel, url, `dateTime`, extra
FROM bid
QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) <= 1
EMIT CHANGES WITH ('state.ttl' = '${bids_last} us');
