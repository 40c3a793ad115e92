-- How many jobs of a queue came and ended, by minute; minute 0 is all time.

CREATE TABLE stats (
  queue  TEXT NOT NULL,
  minute INTEGER NOT NULL,
  word   TEXT NOT NULL,
  jobs   INTEGER NOT NULL,
  PRIMARY KEY (queue, minute, word)
) STRICT, WITHOUT ROWID;
