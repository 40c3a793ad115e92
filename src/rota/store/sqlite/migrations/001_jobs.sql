-- The first layout. Blobs are JSON; columns are what queries look at.

CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE node_types (
  uuid TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE job_types (
  uuid TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE paused_queues (
  queue TEXT PRIMARY KEY
) STRICT;

CREATE TABLE nodes (
  uuid      TEXT PRIMARY KEY,
  last_ping INTEGER NOT NULL,
  body      BLOB NOT NULL
) STRICT;

-- Until when a node owns what it claimed from a queue.
CREATE TABLE leases (
  queue TEXT NOT NULL,
  node  TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (queue, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  seq              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  queue            TEXT NOT NULL,
  state            TEXT NOT NULL CHECK (state IN ('delayed', 'queued', 'running', 'succeeded', 'failed', 'cancelled')),
  rank             INTEGER NOT NULL,
  due              INTEGER,
  spec             BLOB NOT NULL,
  attempts         INTEGER NOT NULL DEFAULT 0,
  deaths           INTEGER NOT NULL DEFAULT 0,
  lock_key         TEXT,
  unique_key       TEXT,
  held             INTEGER NOT NULL DEFAULT 0,
  token            TEXT NOT NULL DEFAULT '',
  claimed_at       INTEGER,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  ended_at         INTEGER,
  ending           BLOB,
  CHECK ((state = 'delayed') = (due IS NOT NULL)),
  CHECK ((state = 'running') = (claimed_at IS NOT NULL)),
  CHECK ((state IN ('succeeded', 'failed', 'cancelled')) = (ended_at IS NOT NULL AND ending IS NOT NULL)),
  CHECK (held = 0 OR (state = 'queued' AND lock_key IS NOT NULL)),
  CHECK (cancel_requested = 0 OR state = 'running')
) STRICT;

CREATE INDEX jobs_ready ON jobs (queue, rank, id) WHERE state = 'queued' AND held = 0;
CREATE INDEX jobs_held ON jobs (queue, lock_key, rank, id) WHERE held = 1;
CREATE INDEX jobs_delayed ON jobs (queue, due, id) WHERE state = 'delayed';
CREATE INDEX jobs_running ON jobs (queue, token) WHERE state = 'running';
CREATE INDEX jobs_cancelling ON jobs (queue, token) WHERE cancel_requested = 1;
CREATE INDEX jobs_ended ON jobs (queue, state, ended_at, id) WHERE ended_at IS NOT NULL;

-- The two rules of uniqueness, kept by the schema itself.
CREATE UNIQUE INDEX jobs_lock ON jobs (queue, lock_key) WHERE state = 'running' AND lock_key IS NOT NULL;
CREATE UNIQUE INDEX jobs_unique ON jobs (queue, unique_key)
  WHERE unique_key IS NOT NULL AND state IN ('delayed', 'queued', 'running');

CREATE TABLE logs (
  job_id   TEXT NOT NULL,
  position INTEGER NOT NULL,
  entry    BLOB NOT NULL,
  PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;
