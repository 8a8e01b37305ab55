-- The ten highest bids for each auction; of equal ones, the first.
SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, "dateTime") AS rank_number
FROM bid
QUALIFY rank_number <= 10
