WITH counted AS (
  SELECT auction, COUNT(*) AS num, window_start, window_end
  FROM HOP(TABLE bid, DESCRIPTOR(rowtime), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
  GROUP BY auction, window_start, window_end
),
most AS (
  SELECT MAX(num) AS maxn, window_start, window_end FROM counted GROUP BY window_start, window_end
)
SELECT c.auction, c.num
FROM counted c JOIN most m
  ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.num >= m.maxn
