-- Windows of the wall clock are others in every run. What must hold: all bids of a bidder are counted.
SELECT bidder, count(*) AS bid_count FROM bid GROUP BY bidder
