-- Series: jobs by a name and the time of their making, only for those that are in one.

CREATE TABLE series (
  queue       TEXT NOT NULL,
  name        TEXT NOT NULL,
  enqueued_at INTEGER NOT NULL,
  job_id      TEXT NOT NULL,
  PRIMARY KEY (queue, name, enqueued_at, job_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX series_job ON series (job_id);
