-- Query 2: selection. Bids for every 123rd auction.
CREATE SINK q2 WITH ('connector' = 'noop') AS
SELECT auction, price FROM bid WHERE auction % 123 = 0;
