-- Who changed what, in the order of the ids, which are UUIDv7.

CREATE TABLE audit (
  id    TEXT PRIMARY KEY,
  entry BLOB NOT NULL
) STRICT, WITHOUT ROWID;
