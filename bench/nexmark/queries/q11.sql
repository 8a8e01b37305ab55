-- Query 11: user sessions. How many bids did a user make in each session?
CREATE SINK q11 WITH ('connector' = 'noop') AS
SELECT bidder, count(*) AS bid_count, _WINDOW_START AS starttime, _WINDOW_END AS endtime
FROM bid WINDOW SESSION(GAP INTERVAL '10' SECONDS)
GROUP BY bidder;
