-- Prices in euros.
SELECT auction, bidder, price * 0.908 AS price, "dateTime", extra FROM bid
