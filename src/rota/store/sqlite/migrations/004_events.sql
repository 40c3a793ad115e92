-- Configurations, what events did to them, and the ends of jobs that are yet to be taken as events.

CREATE TABLE configurations (
  seq     INTEGER PRIMARY KEY,
  uuid    TEXT NOT NULL UNIQUE,
  name    TEXT NOT NULL UNIQUE,
  queue   TEXT NOT NULL,
  version INTEGER NOT NULL,
  body    BLOB NOT NULL,
  state   BLOB NOT NULL
) STRICT;

-- Where dependencies are found: kind '=' by the exact resource, '^' by the literal beginning of a directory, prefix or glob.
CREATE TABLE dependency_index (
  type  TEXT NOT NULL,
  kind  TEXT NOT NULL,
  start TEXT NOT NULL,
  configuration INTEGER NOT NULL,
  PRIMARY KEY (type, kind, start, configuration)
) STRICT, WITHOUT ROWID;

CREATE TABLE validations (
  configuration INTEGER NOT NULL,
  received_at   INTEGER NOT NULL,
  event         TEXT NOT NULL,
  dependency    INTEGER NOT NULL,
  own_id        TEXT,
  body          BLOB NOT NULL,
  PRIMARY KEY (configuration, received_at, event, dependency)
) STRICT, WITHOUT ROWID;

CREATE INDEX validations_own_id ON validations (configuration, own_id) WHERE own_id IS NOT NULL;

CREATE TABLE evaluations (
  configuration INTEGER NOT NULL,
  number        INTEGER NOT NULL,
  body          BLOB NOT NULL,
  PRIMARY KEY (configuration, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  seq   INTEGER PRIMARY KEY,
  queue TEXT NOT NULL,
  event TEXT NOT NULL UNIQUE,
  body  BLOB NOT NULL
) STRICT;

CREATE INDEX outbox_queue ON outbox (queue, seq);
