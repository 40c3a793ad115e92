-- What queues give out, what is in them, what happened in them. The column `held` says that a job is blocked: it waits for
-- a lock; `limited`, that its rate is used up.

-- name: next_due
-- When the first delayed job of a queue becomes ready, or the first limited one may.
SELECT MIN(due) AS due FROM (
  SELECT MIN(due) AS due FROM jobs WHERE queue = :queue AND state = 'delayed'
  UNION ALL SELECT MIN(due) FROM rates WHERE queue = :queue AND due IS NOT NULL);

-- name: has_ready_jobs
-- Whether a claim would find something, now or after making due jobs ready.
SELECT (EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'queued' AND held = 0 AND limited = 0)
     OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'delayed' AND due <= :now)
     OR EXISTS (SELECT 1 FROM rates WHERE queue = :queue AND due <= :now))
   AND NOT EXISTS (SELECT 1 FROM paused_queues WHERE queue = :queue);

-- name: has_live_jobs
-- Whether a queue holds jobs that are not over.
SELECT EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'queued' AND held = 0 AND limited = 0)
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND limited = 1)
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND held = 1)
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'delayed')
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'running');

-- name: pause_queue
-- Give out nothing.
INSERT INTO paused_queues (queue) VALUES (:queue) ON CONFLICT DO NOTHING;

-- name: resume_queue
-- Give out jobs again.
DELETE FROM paused_queues WHERE queue = :queue;

-- name: is_paused
-- Whether a queue gives out nothing.
SELECT EXISTS (SELECT 1 FROM paused_queues WHERE queue = :queue);

-- name: paused_queues
-- All that give out nothing.
SELECT queue FROM paused_queues;

-- name: count_ready
-- Jobs that a claim could take.
SELECT COUNT(*) FROM jobs WHERE queue = :queue AND state = 'queued' AND held = 0 AND limited = 0;

-- name: count_blocked
-- Jobs that wait for a lock.
SELECT COUNT(*) FROM jobs WHERE queue = :queue AND held = 1;

-- name: count_limited
-- Jobs whose rate is used up.
SELECT COUNT(*) FROM jobs WHERE queue = :queue AND limited = 1;

-- name: count_delayed
-- Jobs that wait for their time.
SELECT COUNT(*) FROM jobs WHERE queue = :queue AND state = 'delayed';

-- name: count_running
-- Jobs in the hands of nodes: all, and those that wait in their node's buffer.
SELECT COUNT(*) AS held, COALESCE(SUM(claimed_at = 0), 0) AS buffered
FROM jobs WHERE queue = :queue AND state = 'running';

-- name: count_up
-- So many more jobs of a kind in a minute, or in all; tells how many there are now.
INSERT INTO stats (queue, minute, word, jobs) VALUES (:queue, :minute, :word, :jobs)
ON CONFLICT (queue, minute, word) DO UPDATE SET jobs = jobs + excluded.jobs
RETURNING jobs;

-- name: trim_stats
-- Forget minutes that are long past.
DELETE FROM stats WHERE queue = :queue AND minute > 0 AND minute < :before;

-- name: read_stats
-- What happened in some minutes.
SELECT minute, word, jobs FROM stats
WHERE queue = :queue AND minute >= :since AND minute < :until ORDER BY minute;

-- name: list_queues
-- Every queue that has a definition or jobs, schedules, configurations, ends that nobody took or counts, or is paused. Each index is asked for its next queue; DISTINCT would read all rows.
WITH RECURSIVE
  ended (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE ended_at IS NOT NULL
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE ended_at IS NOT NULL AND queue > ended.queue) FROM ended WHERE queue IS NOT NULL),
  ready (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE state = 'queued' AND held = 0 AND limited = 0
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE state = 'queued' AND held = 0 AND limited = 0 AND queue > ready.queue) FROM ready WHERE queue IS NOT NULL),
  blocked (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE held = 1
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE held = 1 AND queue > blocked.queue) FROM blocked WHERE queue IS NOT NULL),
  limited (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE limited = 1
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE limited = 1 AND queue > limited.queue) FROM limited WHERE queue IS NOT NULL),
  delayed (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE state = 'delayed'
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE state = 'delayed' AND queue > delayed.queue) FROM delayed WHERE queue IS NOT NULL),
  running (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE state = 'running'
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE state = 'running' AND queue > running.queue) FROM running WHERE queue IS NOT NULL),
  scheduled (queue) AS (
    SELECT MIN(queue) FROM schedules
    UNION ALL SELECT (SELECT MIN(queue) FROM schedules WHERE queue > scheduled.queue) FROM scheduled WHERE queue IS NOT NULL),
  configured (queue) AS (
    SELECT MIN(queue) FROM configurations
    UNION ALL SELECT (SELECT MIN(queue) FROM configurations WHERE queue > configured.queue) FROM configured WHERE queue IS NOT NULL),
  told (queue) AS (
    SELECT MIN(queue) FROM outbox
    UNION ALL SELECT (SELECT MIN(queue) FROM outbox WHERE queue > told.queue) FROM told WHERE queue IS NOT NULL),
  counted (queue) AS (
    SELECT MIN(queue) FROM stats
    UNION ALL SELECT (SELECT MIN(queue) FROM stats WHERE queue > counted.queue) FROM counted WHERE queue IS NOT NULL)
SELECT uuid FROM node_types
UNION SELECT queue FROM (
  SELECT queue FROM ended UNION SELECT queue FROM ready UNION SELECT queue FROM blocked
  UNION SELECT queue FROM limited UNION SELECT queue FROM delayed UNION SELECT queue FROM running
  UNION SELECT queue FROM scheduled UNION SELECT queue FROM configured UNION SELECT queue FROM told
  UNION SELECT queue FROM counted UNION SELECT queue FROM paused_queues)
WHERE queue IS NOT NULL;

-- name: is_queue_used
-- Whether a queue has a node type, anything that lives in it, or ends that nobody took.
SELECT EXISTS (SELECT 1 FROM node_types WHERE uuid = :queue)
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND ended_at IS NOT NULL)
    OR EXISTS (SELECT 1 FROM schedules WHERE queue = :queue)
    OR EXISTS (SELECT 1 FROM configurations WHERE queue = :queue)
    OR EXISTS (SELECT 1 FROM outbox WHERE queue = :queue);

-- name: forget_stats
-- Forget what was counted in a queue.
DELETE FROM stats WHERE queue = :queue;

-- name: forget_forgotten
-- Forget how many ended jobs were forgotten, which counts only together with the stats.
DELETE FROM forgotten WHERE queue = :queue;

-- name: forget_pulses
-- Forget what nodes said on a queue.
DELETE FROM pulses WHERE queue = :queue;

-- name: forget_queue_rates
-- Forget what was started in a queue under rates.
DELETE FROM rates WHERE queue = :queue;

-- name: forget_fence
-- Forget the last number that a run under a lock was given.
DELETE FROM fences WHERE queue = :queue;
