-- Bids, bidders and auctions of each channel and day, by level of price, and the last minute of it.
WITH leveled AS (
  SELECT *, CASE WHEN price < 10000 THEN 1 WHEN price < 1000000 THEN 2 ELSE 3 END AS level
  FROM bid
)
SELECT
  channel,
  strftime("dateTime", '%Y-%m-%d') AS day,
  strftime(max("dateTime"), '%H:%M') AS minute,
  count(*) AS total_bids,
  count(*) FILTER (level = 1) AS rank1_bids,
  count(*) FILTER (level = 2) AS rank2_bids,
  count(*) FILTER (level = 3) AS rank3_bids,
  count(DISTINCT bidder) AS total_bidders,
  count(DISTINCT CASE level WHEN 1 THEN bidder END) AS rank1_bidders,
  count(DISTINCT CASE level WHEN 2 THEN bidder END) AS rank2_bidders,
  count(DISTINCT CASE level WHEN 3 THEN bidder END) AS rank3_bidders,
  count(DISTINCT auction) AS total_auctions,
  count(DISTINCT CASE level WHEN 1 THEN auction END) AS rank1_auctions,
  count(DISTINCT CASE level WHEN 2 THEN auction END) AS rank2_auctions,
  count(DISTINCT CASE level WHEN 3 THEN auction END) AS rank3_auctions
FROM leveled
GROUP BY channel, day
