-- fields of structs, of elements and of values
SELECT payload.kind AS a, e.payload.inner.x AS b, items.sku AS c, tags.any AS d, items[0].price AS f FROM events e
--> select over e
-->   e.payload.kind AS a
-->   e.payload.inner.x AS b
-->   e.items.sku AS c
-->   e.tags.any AS d
-->   e.items[0].price AS f
-->   source events

-- an unknown field
SELECT payload.knd FROM events
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 16: payload is STRUCT<kind: STRING, inner: STRUCT<x: INT>>, which has no field knd. Did you mean kind?

-- an unknown field of a field
SELECT e.payload.inner.y FROM events e
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 24: payload.inner is STRUCT<x: INT>, which has no field y. Known: x.

-- an unknown field of elements
SELECT upper(items.skuu) AS x FROM events
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 20: items is STRUCT<sku: STRING, price: DOUBLE>, which has no field skuu. Did you mean sku?

-- a field of a column that has none
SELECT id FROM events WHERE id.x = 1
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 32: id is BIGINT, which has no fields.

-- a field of a value of a map
SELECT tags.a.b FROM events
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 15: tags.a is STRING, which has no fields.

-- a field in ORDER BY
SELECT id FROM events WINDOW TUMBLING(1 HOUR) ORDER BY payload.knd LIMIT 1
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 64: payload is STRUCT<kind: STRING, inner: STRUCT<x: INT>>, which has no field knd. Did you mean kind?
