-- Persons who joined and opened an auction in the same ten seconds.
SELECT id, name, time_bucket(INTERVAL 10 SECONDS, "dateTime") AS starttime
FROM person
WHERE EXISTS (
  FROM auction
  WHERE auction.seller = person.id
    AND time_bucket(INTERVAL 10 SECONDS, auction."dateTime")
      = time_bucket(INTERVAL 10 SECONDS, person."dateTime")
)
