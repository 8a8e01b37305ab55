-- Query 3: local item suggestion. Who sells in Oregon, Idaho or California in category 10, and what?
--
-- The public suite sets no bound and keeps all persons and auctions for ever. Here a person is kept
-- for as long as sellers are active: the generator says how long that is.
CREATE SINK q3 WITH ('connector' = 'noop') AS
SELECT p.name, p.city, p.state, a.id
FROM auction a JOIN person p
  ON a.seller = p.id
 AND a.`dateTime` BETWEEN p.`dateTime` - INTERVAL '${acts_before}' MICROSECONDS
                      AND p.`dateTime` + INTERVAL '${acts_after}' MICROSECONDS
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
