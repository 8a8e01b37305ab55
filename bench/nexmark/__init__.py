"""NEXMark: an auction house as a stream of persons, auctions and bids, and 23 queries over it."""
