-- Query 12: processing time windows. How many bids does a user make in ten seconds of the wall clock?
CREATE SINK q12 WITH ('connector' = 'noop') AS
SELECT bidder, count(*) AS bid_count, _WINDOW_START AS starttime, _WINDOW_END AS endtime
FROM bid WINDOW TUMBLING(INTERVAL '10' SECONDS) ON PROCTIME()
GROUP BY bidder;
