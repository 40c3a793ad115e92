-- Jobs in the hands of nodes, their locks, and the pulses of nodes. `:ids` and `:seqs` are JSON arrays. The column `held`
-- says that a job is blocked: it waits for a lock; `limited`, that its rate is used up. A `claimed_at` of 0 says that a job waits in its node's buffer.

-- name: promote_due_jobs
-- Make delayed jobs ready whose time has come.
UPDATE jobs SET state = 'queued', due = NULL WHERE seq IN (
  SELECT seq FROM jobs WHERE queue = :queue AND state = 'delayed' AND due <= :now ORDER BY due LIMIT :limit);

-- name: claim_candidates
-- The next ready jobs of a queue, in order.
SELECT seq, spec, rank, attempts, deaths, lock_key, rate_key, past FROM jobs
WHERE queue = :queue AND state = 'queued' AND held = 0 AND limited = 0 ORDER BY rank, id LIMIT :limit;

-- name: claim_jobs
-- Hand candidates to a node. They begin now, or wait in its buffer: then the time is 0.
UPDATE jobs SET state = 'running', token = :token, claimed_at = :begins_at WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: begin_jobs
-- A job that waited in its node's buffer has begun.
UPDATE jobs SET claimed_at = :now WHERE id = :id AND queue = :queue AND token = :token AND state = 'running';

-- name: claimed_jobs
-- Jobs by their numbers, whole, in order: for the rare claim with a record that cannot be read.
SELECT * FROM jobs WHERE seq IN (SELECT value FROM json_each(:seqs)) ORDER BY rank, id;

-- name: is_locked
-- Whether a running job holds a lock.
SELECT EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND lock_key = :lock_key AND state = 'running');

-- name: block_jobs
-- Keep jobs back until their lock is free.
UPDATE jobs SET held = 1 WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: free_lock
-- Make the first job ready that waits for a lock.
UPDATE jobs SET held = 0 WHERE seq = (
  SELECT seq FROM jobs WHERE queue = :queue AND lock_key = :lock_key AND held = 1 ORDER BY rank, id LIMIT 1);

-- name: limit_jobs
-- Keep jobs back until their rate allows them.
UPDATE jobs SET limited = 1 WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: due_rates
-- Rates whose limited jobs are to be looked at.
SELECT rate_key FROM rates WHERE queue = :queue AND due <= :now ORDER BY due LIMIT :limit;

-- name: read_rate
-- What was started under a rate, and when its limited jobs are looked at again.
SELECT starts, due FROM rates WHERE queue = :queue AND rate_key = :rate_key;

-- name: free_limited
-- Make the first limited jobs of a rate ready.
UPDATE jobs SET limited = 0 WHERE seq IN (
  SELECT seq FROM jobs WHERE queue = :queue AND rate_key = :rate_key AND limited = 1 ORDER BY rank, id LIMIT :limit);

-- name: has_limited
-- Whether jobs wait for a rate.
SELECT EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND rate_key = :rate_key AND limited = 1);

-- name: put_rate
-- What was started under a rate, and when its limited jobs are looked at again.
INSERT INTO rates (queue, rate_key, starts, due, forgotten_at) VALUES (:queue, :rate_key, :starts, :due, :forgotten_at)
ON CONFLICT (queue, rate_key) DO UPDATE SET starts = excluded.starts, due = excluded.due, forgotten_at = excluded.forgotten_at;

-- name: look_again
-- Have limited jobs of a rate looked at now.
UPDATE rates SET due = :now WHERE queue = :queue AND rate_key = :rate_key AND due > :now;

-- name: has_spent_rates
-- Whether there are rates to forget.
SELECT EXISTS (SELECT 1 FROM rates WHERE queue = :queue AND forgotten_at <= :now AND (due IS NULL OR NOT EXISTS (
  SELECT 1 FROM jobs WHERE jobs.queue = :queue AND jobs.rate_key = rates.rate_key AND limited = 1)));

-- name: forget_rates
-- Forget rates of which nothing counts any more and for which nobody waits. Those who did may have been cancelled since.
DELETE FROM rates WHERE queue = :queue AND rate_key IN (
  SELECT rate_key FROM rates WHERE queue = :queue AND forgotten_at <= :now AND (due IS NULL OR NOT EXISTS (
    SELECT 1 FROM jobs WHERE jobs.queue = :queue AND jobs.rate_key = rates.rate_key AND limited = 1)) LIMIT :limit);

-- name: next_fence
-- The last fencing number of a queue, raised by so many. It never falls behind the time, so that it goes on growing in a
-- store that was emptied.
INSERT INTO fences (queue, number) VALUES (:queue, :now + :jobs)
ON CONFLICT (queue) DO UPDATE SET number = MAX(number, :now) + :jobs
RETURNING number;

-- name: finish_ended
-- End a job that this token holds.
UPDATE jobs SET state = :state, ended_at = :ended_at, ending = :ending, attempts = :attempts, deaths = :deaths,
  claimed_at = NULL, cancel_requested = 0
WHERE id = :id AND queue = :queue AND token = :token AND state = 'running';

-- name: finish_returned
-- Give a job back that this token holds; one that was to be cancelled is cancelled now.
UPDATE jobs SET
  state = CASE cancel_requested WHEN 1 THEN 'cancelled' ELSE :state END,
  due = CASE cancel_requested WHEN 1 THEN NULL ELSE :due END,
  ended_at = CASE cancel_requested WHEN 1 THEN :now END,
  ending = CASE cancel_requested WHEN 1 THEN :cancelled_ending END,
  rank = :rank, attempts = :attempts, deaths = :deaths, past = :past, claimed_at = NULL, cancel_requested = 0
WHERE id = :id AND queue = :queue AND token = :token AND state = 'running';

-- name: held_claims
-- The running ones among some jobs.
SELECT id, queue, token, cancel_requested FROM jobs
WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'running';

-- name: claims_of_node
-- Claims of one node on a queue.
SELECT
    seq, id, queue, token, spec, rank, attempts, deaths, past, lock_key, unique_key, cancel_requested, claimed_at
FROM jobs
WHERE queue = :queue AND state = 'running' AND token >= :low AND token < :high LIMIT :limit;

-- name: cancelled_claims
-- What one node is to end.
SELECT id, token FROM jobs WHERE queue = :queue AND cancel_requested = 1 AND token >= :low AND token < :high;

-- name: recover_claims
-- Put jobs back as they were; those that were to be cancelled are cancelled now.
UPDATE jobs SET
  state = CASE cancel_requested WHEN 1 THEN 'cancelled' ELSE 'queued' END,
  ended_at = CASE cancel_requested WHEN 1 THEN :now END,
  ending = CASE cancel_requested WHEN 1 THEN :ending END,
  token = '', claimed_at = NULL, cancel_requested = 0
WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: set_pulse
-- A node lives.
INSERT INTO pulses (queue, node, pulse) VALUES (:queue, :node, :pulse)
ON CONFLICT (queue, node) DO UPDATE SET pulse = excluded.pulse;

-- name: raise_floor
-- Claims of a node up to a serial take nothing.
INSERT INTO pulses (queue, node, floor) VALUES (:queue, :node, :floor)
ON CONFLICT (queue, node) DO UPDATE SET floor = MAX(floor, excluded.floor);

-- name: floor_of_node
-- Up to which serial claims of a node take nothing.
SELECT floor FROM pulses WHERE queue = :queue AND node = :node;

-- name: read_pulses
-- The nodes of a queue.
SELECT node, pulse FROM pulses WHERE queue = :queue AND pulse IS NOT NULL;

-- name: has_pulse
-- Whether a node is as it was seen.
SELECT EXISTS (SELECT 1 FROM pulses WHERE queue = :queue AND node = :node AND pulse = :pulse);

-- name: forget_node
-- A node left a queue.
DELETE FROM pulses WHERE queue = :queue AND node = :node;

-- name: forget_pulse
-- A node that is as it was seen is no more.
DELETE FROM pulses WHERE queue = :queue AND node = :node AND pulse = :pulse;

-- name: mark_orphans
-- Nodes that hold claims and have no pulse.
INSERT INTO pulses (queue, node, pulse)
SELECT DISTINCT queue, substr(token, 1, instr(token, '/') - 1), '' FROM jobs WHERE queue = :queue AND state = 'running'
ON CONFLICT (queue, node) DO UPDATE SET pulse = '' WHERE pulse IS NULL;
