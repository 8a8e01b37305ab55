-- The id of each bid's channel: four are known by name, others tell it in the URL, some do not.
SELECT auction, bidder, price, channel, channel_id
FROM (
  SELECT
    *,
    coalesce(
      (list_position(['apple', 'google', 'facebook', 'baidu'], lower(channel)) - 1)::VARCHAR,
      split_part(split_part(url || '&', '&channel_id=', 2), '&', 1)
    ) AS channel_id
  FROM bid
)
WHERE channel_id <> ''
