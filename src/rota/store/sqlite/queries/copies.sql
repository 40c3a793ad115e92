-- A queue as of one moment, and writing what was read elsewhere.

-- name: copy_jobs
-- Jobs that have not ended.
SELECT * FROM jobs WHERE queue = :queue AND state = 'queued' AND held = 0 AND limited = 0
UNION ALL SELECT * FROM jobs WHERE queue = :queue AND held = 1
UNION ALL SELECT * FROM jobs WHERE queue = :queue AND limited = 1
UNION ALL SELECT * FROM jobs WHERE queue = :queue AND state = 'delayed'
UNION ALL SELECT * FROM jobs WHERE queue = :queue AND state = 'running';

-- name: copy_ended
-- Ids of jobs that have ended.
SELECT id FROM jobs WHERE queue = :queue AND ended_at IS NOT NULL;

-- name: copy_schedules
-- Schedules of a queue.
SELECT uuid, body, state FROM schedules WHERE queue = :queue;

-- name: copy_configurations
-- Configurations of a queue.
SELECT uuid, body, state FROM configurations WHERE queue = :queue;

-- name: copy_outbox
-- Ends of jobs that are yet to be taken as events.
SELECT event, body FROM outbox WHERE queue = :queue ORDER BY seq;

-- name: copy_fence
-- The last number that a run under a lock was given.
SELECT number FROM fences WHERE queue = :queue;

-- name: restore_job
-- A job as it was elsewhere.
INSERT INTO jobs (id, queue, state, rank, due, spec, attempts, deaths, lock_key, unique_key, rate_key, token, ended_at, ending, past)
VALUES (:id, :queue, :state, :rank, :due, :spec, :attempts, :deaths, :lock_key, :unique_key, :rate_key, :token, :ended_at, :ending, :past)
ON CONFLICT (id) DO NOTHING;

-- name: restore_count
-- So many jobs in a minute, or in all.
INSERT INTO stats (queue, minute, word, jobs) VALUES (:queue, :minute, :word, :jobs)
ON CONFLICT (queue, minute, word) DO UPDATE SET jobs = excluded.jobs;

-- name: restore_forgotten
-- Of the jobs that ended in a state, those that are not there were forgotten or brought back.
INSERT INTO forgotten (queue, state, jobs)
VALUES (:queue, :state, :ended - (SELECT COUNT(*) FROM jobs WHERE queue = :queue AND state = :state AND ended_at IS NOT NULL))
ON CONFLICT (queue, state) DO UPDATE SET jobs = excluded.jobs;

-- name: restore_fence
-- Numbers only grow.
INSERT INTO fences (queue, number) VALUES (:queue, :number)
ON CONFLICT (queue) DO UPDATE SET number = max(number, excluded.number);
