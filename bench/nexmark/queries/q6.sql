-- Query 6: average selling price by seller, of the last ten closed auctions, after each of them.
--
-- Flink cannot run it: its OVER takes no stream whose rows change, and its winning bids do.
CREATE STREAM valid AS
SELECT a.id, a.seller, b.price, b.`dateTime`
FROM auction a JOIN bid b
  ON a.id = b.auction
 AND b.`dateTime` BETWEEN a.`dateTime` AND a.`dateTime` + INTERVAL '${longest_auction}' MICROSECONDS
 AND b.`dateTime` <= a.expires;

-- As in query 4. Of equal bids the first wins: the price stands before the digits of the time.
CREATE STREAM closed AS
SELECT
  id,
  seller,
  max_by(`dateTime`, price * 100000000000000000BD - unix_micros(`dateTime`)) AS won,
  _WINDOW_TIME
FROM valid WINDOW SESSION(GAP INTERVAL '${longest_auction}' MICROSECONDS)
GROUP BY id, seller;

-- A session's own time is its end, but the last ten go by the times of the winning bids. So each is
-- joined to its bid again, which is a gap and up to another one before that end.
CREATE STREAM winning AS
SELECT c.seller, b.price, b.`dateTime`
FROM closed c JOIN bid b
  ON c.id = b.auction
 AND c.won = b.`dateTime`
 AND b.`dateTime` BETWEEN c._WINDOW_TIME - INTERVAL '${two_auctions}' MICROSECONDS
                      AND c._WINDOW_TIME;

-- A seller is forgotten once no auction of theirs can close any more.
CREATE SINK q6 WITH ('connector' = 'noop') AS
SELECT
  seller,
  CAST(avg(price) OVER (
    PARTITION BY seller ORDER BY `dateTime` ROWS BETWEEN 9 PRECEDING AND CURRENT ROW
  ) AS BIGINT) AS avg_price
FROM winning
WITH ('state.ttl' = '${sells_last} us');
