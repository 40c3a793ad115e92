-- Topics: records that others read, by offset. A record is known by its id within its topic.

CREATE TABLE topics (
  number      INTEGER PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  next_offset INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE topic_records (
  topic     INTEGER NOT NULL,
  place     INTEGER NOT NULL,
  id        TEXT NOT NULL,
  published INTEGER NOT NULL,
  record    BLOB NOT NULL,
  PRIMARY KEY (topic, place)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX topic_record_ids ON topic_records (topic, id);
