"""SQLite files whose writers die, whose disk fails and whose commits other processes must hear of."""
