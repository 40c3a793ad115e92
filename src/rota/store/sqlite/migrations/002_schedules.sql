-- Schedules, and what became of their ticks.

CREATE TABLE schedules (
  uuid  TEXT PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE,
  queue TEXT NOT NULL,
  job_type TEXT NOT NULL,
  due   INTEGER,
  version INTEGER NOT NULL,
  body  BLOB NOT NULL,
  state BLOB NOT NULL
) STRICT;

CREATE INDEX schedules_due ON schedules (queue, due) WHERE due IS NOT NULL;
CREATE INDEX schedules_job_type ON schedules (job_type, name);

CREATE TABLE ticks (
  schedule TEXT NOT NULL,
  nominal  INTEGER NOT NULL,
  body     BLOB NOT NULL,
  PRIMARY KEY (schedule, nominal)
) STRICT, WITHOUT ROWID;
