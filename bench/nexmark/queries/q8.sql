-- Query 8: monitor new users. Who joined and opened an auction in the same ten seconds?
CREATE SINK q8 WITH ('connector' = 'noop') AS
SELECT p.id, p.name, _WINDOW_START AS starttime
FROM person p LEFT SEMI JOIN auction a ON p.id = a.seller
WINDOW TUMBLING(INTERVAL '10' SECONDS);
