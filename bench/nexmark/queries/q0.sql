-- Query 0: pass through. What reading and handing on costs.
CREATE SINK q0 WITH ('connector' = 'noop') AS
SELECT auction, bidder, price, `dateTime`, extra FROM bid;
