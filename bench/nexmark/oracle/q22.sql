-- The three folders in each bid's URL.
SELECT
  auction, bidder, price, channel,
  parts[1] AS dir1, parts[2] AS dir2, parts[3] AS dir3
FROM (
  SELECT *, string_split(regexp_replace(url, '^https://[^/]*/', ''), '/') AS parts FROM bid
)
