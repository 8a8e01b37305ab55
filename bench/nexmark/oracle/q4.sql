-- The average closing price of a category, in whole cents.
WITH closing AS (
  SELECT auction.id, auction.category, max(bid.price) AS price
  FROM auction
  JOIN bid ON bid.auction = auction.id
  WHERE bid."dateTime" >= auction."dateTime" AND bid."dateTime" <= auction.expires
  GROUP BY ALL
)
SELECT category AS id, (sum(price) // count(*))::BIGINT AS final
FROM closing
GROUP BY category
