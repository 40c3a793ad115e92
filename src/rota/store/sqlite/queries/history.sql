-- Jobs that are over. `:ids` is a JSON array.

-- name: trim_by_age
-- Jobs of one final state that ended before an instant, oldest first.
SELECT ended_at, id FROM jobs WHERE queue = :queue AND state = :state AND ended_at < :before ORDER BY ended_at, id LIMIT :limit;

-- name: ended_jobs
-- Those of some jobs that are over, and were by an instant, and how long they are.
SELECT id, queue, state, length(spec) + length(ending) + COALESCE(length(past), 0) AS bytes FROM jobs WHERE id IN (SELECT value FROM json_each(:ids)) AND ended_at <= :until;

-- name: delete_jobs
-- Forget jobs, which are over.
DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(:ids));

-- name: delete_from_series
-- Take jobs out of their series.
DELETE FROM series WHERE job_id IN (SELECT value FROM json_each(:ids));

-- name: first_lines
-- The first lines of the logs of some jobs, and how long they are.
SELECT job_id, position, length(entry) AS bytes FROM logs
WHERE job_id IN (SELECT value FROM json_each(:ids)) ORDER BY job_id, position LIMIT :limit;

-- name: delete_lines
-- Forget lines of a job up to a position.
DELETE FROM logs WHERE job_id = ? AND position <= ?;

-- name: count_ended
-- How many jobs of a queue are over, by state: every end was counted, and so was what became of them.
SELECT state, SUM(jobs) AS jobs FROM (
  SELECT word AS state, jobs FROM stats WHERE queue = :queue AND minute = 0
  UNION ALL SELECT state, -jobs FROM forgotten WHERE queue = :queue)
GROUP BY state;

-- name: count_forgotten
-- So many ended jobs are over no more: forgotten, or brought back.
INSERT INTO forgotten (queue, state, jobs) VALUES (:queue, :state, :jobs)
ON CONFLICT (queue, state) DO UPDATE SET jobs = jobs + excluded.jobs;
