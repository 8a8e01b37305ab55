-- Query 19: the ten highest bids for an auction; of equal ones, the first.
--
-- The public suite leaves the order of equal ones open. An auction is forgotten once no bid can come
-- for it any more.
CREATE SINK q19 WITH ('connector' = 'noop') AS
SELECT auction, bidder, price, channel, url, `dateTime`, extra, rank_number
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, `dateTime`) AS rank_number
  FROM bid
)
WHERE rank_number <= 10
EMIT CHANGES WITH ('state.ttl' = '${bids_last} us');
