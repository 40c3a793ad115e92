-- Events that were taken, for people. `seq` counts them, so that all but the latest are found at once.

CREATE TABLE event_records (
  seq  INTEGER PRIMARY KEY,
  id   TEXT NOT NULL UNIQUE,
  body BLOB NOT NULL
) STRICT;
