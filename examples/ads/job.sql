-- Advertising: which impression led to a click, which click led to a conversion, and how often
-- each campaign is clicked. Events arrive as JSON lines, up to two minutes out of order.

CREATE SOURCE impressions (
  impression_id STRING,
  campaign STRING,
  cost DECIMAL(10, 4),
  event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 2 MINUTES
) WITH ('connector' = 'file', 'path' = 'data/impressions', 'format' = 'json');

CREATE SOURCE clicks (
  click_id STRING,
  impression_id STRING,
  event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 2 MINUTES
) WITH ('connector' = 'file', 'path' = 'data/clicks', 'format' = 'json');

CREATE SOURCE conversions (
  conversion_id STRING,
  click_id STRING,
  revenue DECIMAL(10, 2),
  event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 2 MINUTES
) WITH ('connector' = 'file', 'path' = 'data/conversions', 'format' = 'json',
        'dead_letter.sink' = 'bad_conversions');

-- Side outputs. Each belongs to one query; side outputs without a sink are in the checkpoint.
CREATE SINK late_for_clicks WITH ('connector' = 'file', 'path' = 'out/late_for_clicks', 'format' = 'json');
CREATE SINK late_for_conversions
WITH ('connector' = 'file', 'path' = 'out/late_for_conversions', 'format' = 'json');
CREATE SINK bad_conversions
WITH ('connector' = 'file', 'path' = 'out/bad_conversions', 'format' = 'json');

-- A click belongs to the impression that it names, if that was shown at most 30 minutes earlier.
-- A click without one has no campaign. A click that is reported twice counts once.
CREATE SINK attributed_clicks
WITH ('connector' = 'file', 'path' = 'out/attributed_clicks', 'format' = 'json') AS
SELECT c.click_id, c.event_time, c.impression_id, i.campaign
FROM (
  SELECT DISTINCT ON (click_id) click_id, impression_id, event_time
  FROM clicks
  WITH ('state.ttl' = '1h', 'late.policy' = 'side_output', 'late.sink' = 'late_for_clicks')
) c
LEFT JOIN impressions i
  ON c.impression_id = i.impression_id
 AND i.event_time BETWEEN c.event_time - INTERVAL 30 MINUTES AND c.event_time
WITH ('late.policy' = 'side_output', 'late.sink' = 'late_for_clicks');

-- The same clicks for the following queries, which drop and count late ones (see late_for_clicks).
CREATE STREAM unique_clicks AS
SELECT DISTINCT ON (click_id) click_id, impression_id, event_time
FROM clicks
WITH ('state.ttl' = '1h');

-- A conversion belongs to its click for 7 days, and through it to a campaign.
CREATE SINK attributed_conversions
WITH ('connector' = 'file', 'path' = 'out/attributed_conversions', 'format' = 'json') AS
SELECT v.conversion_id, v.revenue, v.event_time, c.click_id, i.campaign
FROM conversions v
LEFT JOIN unique_clicks c
  ON v.click_id = c.click_id
 AND c.event_time BETWEEN v.event_time - INTERVAL 7 DAYS AND v.event_time
LEFT JOIN impressions i
  ON c.impression_id = i.impression_id
 AND i.event_time BETWEEN c.event_time - INTERVAL 30 MINUTES AND c.event_time
WITH ('late.policy' = 'side_output', 'late.sink' = 'late_for_conversions');

-- Impressions with their clicks, by the day of the impression. One that is clicked twice
-- counts once.
CREATE STREAM clicked_impressions AS
SELECT i.impression_id, i.campaign, i.event_time, c.click_id
FROM impressions i
LEFT JOIN unique_clicks c
  ON i.impression_id = c.impression_id
 AND c.event_time BETWEEN i.event_time AND i.event_time + INTERVAL 30 MINUTES;

CREATE SINK click_through_rate
WITH ('connector' = 'file', 'path' = 'out/click_through_rate', 'format' = 'json') AS
SELECT
  campaign,
  _WINDOW_START AS day,
  count(DISTINCT impression_id) AS impressions,
  count(DISTINCT impression_id) FILTER (WHERE click_id IS NOT NULL) AS clicked,
  count(DISTINCT impression_id) FILTER (WHERE click_id IS NOT NULL)
    / count(DISTINCT impression_id) AS rate
FROM clicked_impressions WINDOW TUMBLING(INTERVAL '1' DAY)
GROUP BY campaign;
