"""The results of examples/market, computed by DuckDB from whole tables."""

from __future__ import annotations

SOURCES = {
    "trades": "trade_id TEXT, symbol TEXT, price DECIMAL(12, 2), quantity INT, "
    "event_time TIMESTAMPTZ",
    "quotes": "symbol TEXT, bid DECIMAL(12, 2), ask DECIMAL(12, 2), event_time TIMESTAMPTZ",
}
_MINUTES = """
    SELECT symbol, date_trunc('minute', event_time) AS minute,
      arg_min(price, event_time) AS open, max(price) AS high, min(price) AS low,
      arg_max(price, event_time) AS close, sum(quantity)::BIGINT AS volume,
      sum(price * quantity)::DECIMAL(38, 2) AS turnover
    FROM trades GROUP BY ALL"""
RESULTS = {
    "quoted_trades": """
        SELECT t.trade_id, t.symbol, t.price, q.bid, q.ask,
          (t.price - ((q.bid + q.ask) / 2)::DECIMAL(16, 6))::DECIMAL(17, 6) AS slippage,
          t.event_time
        FROM trades t LEFT JOIN LATERAL (
          SELECT * FROM quotes
          WHERE symbol = t.symbol
            AND event_time BETWEEN t.event_time - INTERVAL 1 MINUTE AND t.event_time
          ORDER BY event_time DESC LIMIT 1
        ) q ON true""",
    "candles": f"SELECT symbol, minute, open, high, low, close, volume FROM ({_MINUTES})",
    "top_symbols": f"""
        SELECT minute, row_number() OVER (PARTITION BY minute ORDER BY turnover DESC, symbol)
          AS place, symbol, turnover
        FROM ({_MINUTES}) QUALIFY place <= 3""",
    # The average as Spark has it: six digits, half up; computed from whole cents.
    "spreads": """
        SELECT symbol, since, since + INTERVAL 5 MINUTES AS until, quotes,
          (((20000 * cents + quotes) // (2 * quotes)) * 0.000001)::DECIMAL(17, 6) AS spread
        FROM (
          SELECT symbol, since, count(*) AS quotes, sum((ask - bid) * 100)::BIGINT AS cents
          FROM (
            SELECT *, unnest(range(date_trunc('minute', event_time) - INTERVAL 4 MINUTES,
              date_trunc('minute', event_time) + INTERVAL 1 SECOND, INTERVAL 1 MINUTE)) AS since
            FROM quotes
          )
          GROUP BY ALL
        )""",
}
LATE = """
    SELECT 'trades' AS _source, trade_id, symbol, price, quantity, event_time, NULL AS bid,
      NULL AS ask FROM late_trades
    UNION ALL BY NAME
    SELECT 'quotes' AS _source, symbol, event_time, bid, ask FROM late_quotes"""
READS = {
    "quoted_trades": ("trades", "quotes"),
    "candles": ("trades",),
    "top_symbols": ("trades",),
    "spreads": ("quotes",),
}
