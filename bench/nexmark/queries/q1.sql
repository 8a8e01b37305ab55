-- Query 1: currency conversion. Every price from dollars to euros.
CREATE SINK q1 WITH ('connector' = 'noop') AS
SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid;
