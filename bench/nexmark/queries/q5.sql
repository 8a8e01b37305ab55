-- Query 5: hot items. Which auctions have seen the most bids in the last ten seconds? Every two
-- seconds.
CREATE STREAM counted AS
SELECT auction, _WINDOW_START, _WINDOW_END, _WINDOW_TIME, count(*) AS num
FROM bid WINDOW SLIDING(SIZE INTERVAL '10' SECONDS, SLIDE INTERVAL '2' SECONDS)
GROUP BY auction;

CREATE STREAM most AS
SELECT _WINDOW_START, _WINDOW_END, _WINDOW_TIME, max(num) AS maxn
FROM counted
GROUP BY _WINDOW_START, _WINDOW_END;

CREATE SINK q5 WITH ('connector' = 'noop') AS
SELECT c.auction, c.num
FROM counted c JOIN most m
  ON c._WINDOW_START = m._WINDOW_START
 AND c._WINDOW_TIME = m._WINDOW_TIME
 AND c.num >= m.maxn;
