"""The nouns of the contract on SQLite. The file and its connections are in `database`, what is asked in `queries`."""
