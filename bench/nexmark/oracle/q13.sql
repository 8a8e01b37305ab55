-- Every bid with what the side input says of its auction.
SELECT bid.auction, bid.bidder, bid.price, bid."dateTime", side_input.value
FROM bid
JOIN side_input ON side_input.key = bid.auction % 10000
