-- Every bid, in a folder for its day and one for its minute.
SELECT
  auction, bidder, price, "dateTime", extra,
  strftime("dateTime", '%Y-%m-%d') AS dt, strftime("dateTime", '%H:%M') AS hm
FROM bid
