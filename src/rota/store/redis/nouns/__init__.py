"""The nouns of the contract on Redis. How servers are reached is in `link`, what they do in one step in `scripts`."""
