-- Jobs as they are handed in, looked for and changed. `:ids` is a JSON array. The column `held` says
-- that a job is blocked: it waits for a lock; `limited`, that its rate is used up.

-- name: enqueue_jobs
-- Accept a job. A known id and a taken unique key both leave it out.
INSERT INTO jobs (id, queue, state, rank, due, spec, lock_key, unique_key, rate_key)
VALUES (:id, :queue, :state, :rank, :due, :spec, :lock_key, :unique_key, :rate_key)
ON CONFLICT DO NOTHING;

-- name: holder_of_unique_key
-- The live job that has a unique key.
SELECT id FROM jobs
WHERE queue = :queue AND unique_key = :unique_key AND state IN ('delayed', 'queued', 'running');

-- name: find_job
-- One job, whole.
SELECT * FROM jobs WHERE id = :id;

-- name: states_of_jobs
-- Where some jobs are.
SELECT id, state FROM jobs WHERE id IN (SELECT value FROM json_each(:ids));

-- name: read_wait
-- What a queued job waits behind: how many are given out before it, who holds its lock, until when its rate is used up.
SELECT
  CASE WHEN limited = 1
    THEN (SELECT count(*) FROM (
      SELECT 1 FROM jobs
      WHERE queue = job.queue AND rate_key = job.rate_key AND limited = 1 AND (rank, id) < (job.rank, job.id)
      LIMIT :most))
    WHEN held = 0
    THEN (SELECT count(*) FROM (
      SELECT 1 FROM jobs
      WHERE queue = job.queue AND state = 'queued' AND held = 0 AND limited = 0 AND (rank, id) < (job.rank, job.id)
      LIMIT :most))
    ELSE (SELECT count(*) FROM (
      SELECT 1 FROM jobs
      WHERE queue = job.queue AND lock_key = job.lock_key AND held = 1 AND (rank, id) < (job.rank, job.id)
      LIMIT :most))
  END AS ahead,
  (SELECT id FROM jobs WHERE queue = job.queue AND lock_key = job.lock_key AND state = 'running') AS lock_holder,
  CASE limited WHEN 1 THEN (SELECT due FROM rates WHERE queue = job.queue AND rate_key = job.rate_key) END AS limited_until
FROM jobs AS job
WHERE id = :id AND queue = :queue AND state = 'queued';

-- name: cancel_waiting
-- End a job that nobody runs.
UPDATE jobs SET state = 'cancelled', due = NULL, held = 0, limited = 0, ended_at = :now, ending = :ending
WHERE id = :id AND state IN ('delayed', 'queued');

-- name: cancel_running
-- Ask the node that runs a job to end it.
UPDATE jobs SET cancel_requested = 1 WHERE id = :id AND state = 'running';

-- name: retry_job
-- Bring an ended job back as new.
UPDATE OR IGNORE jobs SET state = 'queued', rank = :rank, attempts = 0, deaths = 0, past = NULL, token = '', ended_at = NULL,
  ending = NULL
WHERE id = :id AND state IN ('failed', 'cancelled');

-- name: page_delayed
-- Delayed jobs by time.
SELECT due AS place, * FROM jobs
WHERE queue = :queue AND state = 'delayed' AND (due, id) > (:place, :id) ORDER BY due, id LIMIT :limit;

-- name: page_buffered
-- Jobs that wait in their node's buffer, in order; few enough to be sorted.
SELECT rank AS place, * FROM jobs
WHERE queue = :queue AND state = 'running' AND claimed_at = 0 AND (rank, id) > (:place, :id)
ORDER BY rank, id LIMIT :limit;

-- name: page_queued
-- Ready jobs in the order of their claim.
SELECT rank AS place, * FROM jobs
WHERE queue = :queue AND state = 'queued' AND held = 0 AND limited = 0 AND (rank, id) > (:place, :id) ORDER BY rank, id LIMIT :limit;

-- name: page_blocked
-- Jobs that wait for a lock, few enough to be sorted, or for a rate.
SELECT rank AS place, * FROM (
  SELECT * FROM (
    SELECT * FROM jobs WHERE queue = :queue AND held = 1 AND (rank, id) > (:place, :id) ORDER BY rank, id LIMIT :limit)
  UNION ALL SELECT * FROM (
    SELECT * FROM jobs WHERE queue = :queue AND limited = 1 AND (rank, id) > (:place, :id) ORDER BY rank, id LIMIT :limit))
ORDER BY rank, id LIMIT :limit;

-- name: page_running
-- Running jobs by the time at which they began; few enough to be sorted.
SELECT claimed_at AS place, * FROM jobs
WHERE queue = :queue AND state = 'running' AND claimed_at > 0 AND (claimed_at, id) > (:place, :id)
ORDER BY claimed_at, id LIMIT :limit;

-- name: page_ended
-- Jobs that ended in one state, latest first.
SELECT ended_at AS place, * FROM jobs
WHERE queue = :queue AND state = :state AND ended_at IS NOT NULL AND (ended_at, id) < (:place, :id)
ORDER BY ended_at DESC, id DESC LIMIT :limit;

-- name: insert_series
-- Put a job into a series. One that is handed in again is in it already.
INSERT OR IGNORE INTO series (queue, name, enqueued_at, job_id) VALUES (:queue, :name, :enqueued_at, :job_id);

-- name: list_series
-- Jobs of a series from an instant on, oldest first.
SELECT jobs.* FROM series JOIN jobs ON jobs.id = series.job_id
WHERE series.queue = :queue AND series.name = :name AND series.enqueued_at >= :since
  AND series.enqueued_at < :until AND (series.enqueued_at, series.job_id) > (:at, :id)
ORDER BY series.enqueued_at, series.job_id LIMIT :limit;

-- name: list_series_latest_first
-- The same, from the other end.
SELECT jobs.* FROM series JOIN jobs ON jobs.id = series.job_id
WHERE series.queue = :queue AND series.name = :name AND series.enqueued_at >= :since
  AND series.enqueued_at < :until AND (series.enqueued_at, series.job_id) < (:at, :id)
ORDER BY series.enqueued_at DESC, series.job_id DESC LIMIT :limit;

-- name: count_series
-- How many jobs a series has.
SELECT COUNT(*) AS jobs FROM series WHERE queue = :queue AND name = :name;
