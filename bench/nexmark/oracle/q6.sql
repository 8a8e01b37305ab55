-- After each closed auction: the average of its seller's last ten closing prices, in whole cents.
WITH closing AS (
  SELECT auction.seller, bid.price, bid."dateTime"
  FROM auction
  JOIN bid ON bid.auction = auction.id
  WHERE bid."dateTime" >= auction."dateTime" AND bid."dateTime" <= auction.expires
  QUALIFY row_number() OVER (PARTITION BY auction.id ORDER BY bid.price DESC, bid."dateTime") = 1
)
SELECT seller, (sum(price) OVER last_ten // count(*) OVER last_ten)::BIGINT AS avg_price
FROM closing
WINDOW last_ten AS (
  PARTITION BY seller ORDER BY "dateTime" ROWS BETWEEN 9 PRECEDING AND CURRENT ROW
)
