"""What staging writes into the book from the ledgers: front page, map, claim cards, how it was made, downloads."""
