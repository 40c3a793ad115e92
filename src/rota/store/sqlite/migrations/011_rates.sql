-- Rates: which jobs share one, which of them are limited (they wait because theirs is used up), and what was started.

ALTER TABLE jobs ADD COLUMN rate_key TEXT;
ALTER TABLE jobs ADD COLUMN limited INTEGER NOT NULL DEFAULT 0;

DROP INDEX jobs_ready;
CREATE INDEX jobs_ready ON jobs (queue, rank, id) WHERE state = 'queued' AND held = 0 AND limited = 0;
CREATE INDEX jobs_limited ON jobs (queue, rate_key, rank, id) WHERE limited = 1;
CREATE INDEX jobs_limited_order ON jobs (queue, rank, id) WHERE limited = 1;

-- Starts are groups, oldest first: an instant and how many. `due` is when limited jobs are looked at again, if there are
-- any; nothing of the starts counts from `forgotten_at` on.
CREATE TABLE rates (
  queue        TEXT NOT NULL,
  rate_key     TEXT NOT NULL,
  starts       TEXT NOT NULL,
  due          INTEGER,
  forgotten_at INTEGER NOT NULL,
  PRIMARY KEY (queue, rate_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX rates_due ON rates (queue, due) WHERE due IS NOT NULL;
CREATE INDEX rates_forgotten ON rates (queue, forgotten_at);
