CREATE SOURCE views (
  user_id STRING, page STRING, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
);
CREATE SOURCE clicks (
  user_id STRING, ad STRING, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 10 SECONDS
);
CREATE SINK visits WITH ('connector' = 'console') AS
SELECT v.user_id, v.page, c.ad, _window_start, _window_end
FROM views v LEFT JOIN clicks c ON v.user_id = c.user_id
WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT FINAL WITH ('window.lateness' = '1m');
CREATE SINK met WITH ('connector' = 'console') AS
SELECT v.user_id, v.page FROM views v LEFT SEMI JOIN clicks c ON v.user_id = c.user_id
WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT CHANGES;
CREATE SINK pairs WITH ('connector' = 'console') AS
SELECT v.user_id, v.event_time, c.ad FROM views v JOIN clicks c ON v.user_id = c.user_id AND c.event_time >= v.event_time
WITH ('state.ttl' = '1d', 'late.policy' = 'side_output');
CREATE STREAM counts AS SELECT user_id, count(*) AS n FROM clicks GROUP BY user_id EMIT CHANGES WITH ('state.ttl' = 'forever');
CREATE SINK all_views WITH ('connector' = 'console') AS
SELECT v.user_id, v.page, c.n FROM views v FULL JOIN counts c ON v.user_id = c.user_id
WITH ('state.ttl' = 'forever');
CREATE SINK spread WITH ('connector' = 'console') AS
SELECT v.user_id, c.ad FROM views v RIGHT JOIN clicks c WITHIN 5 MINUTES ON v.user_id = c.user_id WITH ('join.salt' = '4')
