SELECT b.auction, b.bidder, b.price, b.`dateTime`, b.extra
FROM bid b JOIN (
  SELECT MAX(price) AS maxprice, window_end
  FROM TUMBLE(TABLE bid, DESCRIPTOR(rowtime), INTERVAL '10' SECOND)
  GROUP BY window_start, window_end
) h
  ON b.price = h.maxprice
 AND b.`dateTime` BETWEEN h.window_end - INTERVAL '10' SECOND AND h.window_end
