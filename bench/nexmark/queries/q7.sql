-- Query 7: highest bid of every ten seconds. A bid just at the end of a window belongs to both, as the
-- public suite has it.
CREATE STREAM highest AS
SELECT max(price) AS maxprice, _WINDOW_TIME
FROM bid WINDOW TUMBLING(INTERVAL '10' SECONDS);

CREATE SINK q7 WITH ('connector' = 'noop') AS
SELECT b.auction, b.bidder, b.price, b.`dateTime`, b.extra
FROM bid b JOIN highest h
  ON b.price = h.maxprice
 AND b.`dateTime` BETWEEN h._WINDOW_TIME - INTERVAL '9.999999' SECONDS
                      AND h._WINDOW_TIME + INTERVAL '0.000001' SECONDS;
