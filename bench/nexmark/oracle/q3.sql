-- Who sells in Oregon, Idaho or California in category 10, and what?
SELECT person.name, person.city, person.state, auction.id
FROM person
JOIN auction ON auction.seller = person.id
WHERE auction.category = 10 AND person.state IN ('OR', 'ID', 'CA')
