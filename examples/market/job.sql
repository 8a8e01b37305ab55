-- Market data: each trade with the quote valid at its time, one-minute candles, the average spread, and
-- the symbols with the highest turnover. Rows arrive as CSV, up to ten seconds out of order.

CREATE SOURCE trades (
  trade_id STRING,
  symbol STRING,
  price DECIMAL(12, 2),
  quantity INT,
  event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 10 SECONDS
) WITH ('connector' = 'file', 'path' = 'data/trades', 'format' = 'csv', 'header' = 'true');

CREATE SOURCE quotes (
  symbol STRING,
  bid DECIMAL(12, 2),
  ask DECIMAL(12, 2),  -- words: fine
  event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 10 SECONDS
) WITH ('connector' = 'file', 'path' = 'data/quotes', 'format' = 'csv', 'header' = 'true');

CREATE SINK late_for_quoted_trades
WITH ('connector' = 'file', 'path' = 'out/late_for_quoted_trades', 'format' = 'csv');

-- A trade matches the last quote of its symbol at or before its time. A quote that is older than a
-- minute is stale: the trade then has none.
CREATE SINK quoted_trades
WITH ('connector' = 'file', 'path' = 'out/quoted_trades', 'format' = 'csv') AS
SELECT t.trade_id, t.symbol, t.price, q.bid, q.ask, t.price - (q.bid + q.ask) / 2 AS slippage,  -- words: fine
       t.event_time
FROM trades t
LEFT JOIN quotes FOR SYSTEM_TIME AS OF t.event_time AS q ON t.symbol = q.symbol
WITH ('temporal.tolerance' = '1m', 'late.policy' = 'side_output',
      'late.sink' = 'late_for_quoted_trades');

-- first and last use event time, not the order of arrival.
CREATE STREAM minutes AS
SELECT
  symbol,
  _WINDOW_START,
  _WINDOW_END,
  first(price) AS open,
  max(price) AS high,
  min(price) AS low,
  last(price) AS close,
  sum(quantity) AS volume,
  sum(price * quantity) AS turnover
FROM trades WINDOW TUMBLING(INTERVAL '1' MINUTE)
GROUP BY symbol;

CREATE SINK candles WITH ('connector' = 'file', 'path' = 'out/candles', 'format' = 'csv') AS
SELECT symbol, _WINDOW_START AS minute, open, high, low, close, volume
FROM minutes;

CREATE SINK top_symbols WITH ('connector' = 'file', 'path' = 'out/top_symbols', 'format' = 'csv') AS
SELECT _WINDOW_START AS minute, place, symbol, turnover
FROM (
  SELECT _WINDOW_START, _WINDOW_END, symbol, turnover,
         ROW_NUMBER() OVER (PARTITION BY _WINDOW_START, _WINDOW_END
                            ORDER BY turnover DESC, symbol) AS place
  FROM minutes
)
WHERE place <= 3
EMIT FINAL;

CREATE SINK spreads WITH ('connector' = 'file', 'path' = 'out/spreads', 'format' = 'csv') AS
SELECT symbol, _WINDOW_START AS since, _WINDOW_END AS until, count(*) AS quotes,
       avg(ask - bid) AS spread  -- words: fine
FROM quotes WINDOW SLIDING(SIZE INTERVAL '5' MINUTES, SLIDE INTERVAL '1' MINUTE)
GROUP BY symbol;
