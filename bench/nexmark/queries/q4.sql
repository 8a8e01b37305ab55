-- Query 4: average price for a category, of the winning bids of all auctions.
CREATE STREAM valid AS
SELECT a.id, a.category, b.price, b.`dateTime`
FROM auction a JOIN bid b
  ON a.id = b.auction
 AND b.`dateTime` BETWEEN a.`dateTime` AND a.`dateTime` + INTERVAL '${longest_auction}' MICROSECONDS
 AND b.`dateTime` <= a.expires;

-- No auction runs longer than the gap, so all its bids are in one session; when that is over, the
-- winning bid is known.
CREATE STREAM closed AS
SELECT id, category, max(price) AS final
FROM valid WINDOW SESSION(GAP INTERVAL '${longest_auction}' MICROSECONDS)
GROUP BY id, category;

-- There are five categories, so nothing has to be forgotten.
CREATE SINK q4 WITH ('connector' = 'noop') AS
SELECT category AS id, CAST(avg(final) AS BIGINT) AS final
FROM closed
GROUP BY category
EMIT CHANGES WITH ('state.ttl' = 'forever');
