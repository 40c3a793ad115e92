-- Every query of the SQLite store, by the name of the operation that uses it. `:ids` and the like are JSON arrays.

-- name: get_setting
-- A small value of the installation.
SELECT value FROM settings WHERE name = :name;

-- name: put_setting
-- Keep a value, whatever was there.
INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: put_setting_if_absent
-- Keep a value unless there is one.
INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING;

-- name: list_settings
-- Values whose name begins with a prefix.
SELECT name, value FROM settings WHERE substr(name, 1, length(:prefix)) = :prefix ORDER BY name;

-- name: delete_setting
-- Forget a value.
DELETE FROM settings WHERE name = :name;

-- name: definitions_version
-- The number that changes with every definition.
SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'definitions_version';

-- name: raise_definitions_version
-- Called in the transaction of every change of a definition.
INSERT INTO settings (name, value) VALUES ('definitions_version', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1;

-- name: put_node_types
-- Create or replace by uuid; another uuid with the name breaks the unique constraint.
INSERT INTO node_types (uuid, name, body) VALUES (:uuid, :name, :body)
ON CONFLICT (uuid) DO UPDATE SET name = excluded.name, body = excluded.body;

-- name: list_node_types
-- All node types.
SELECT uuid, name, body FROM node_types ORDER BY name;

-- name: body_of_node_type
-- A definition as it is stored.
SELECT body FROM node_types WHERE uuid = :uuid;

-- name: delete_node_types
-- Remove the definition.
DELETE FROM node_types WHERE uuid = :uuid;

-- name: put_job_types
-- Create or replace by uuid; another uuid with the name breaks the unique constraint.
INSERT INTO job_types (uuid, name, body) VALUES (:uuid, :name, :body)
ON CONFLICT (uuid) DO UPDATE SET name = excluded.name, body = excluded.body;

-- name: list_job_types
-- All job types.
SELECT uuid, name, body FROM job_types ORDER BY name;

-- name: body_of_job_type
-- A definition as it is stored.
SELECT body FROM job_types WHERE uuid = :uuid;

-- name: delete_job_types
-- Remove the definition.
DELETE FROM job_types WHERE uuid = :uuid;

-- name: has_live_jobs
-- Whether a queue holds jobs that are not over.
SELECT EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'queued' AND held = 0)
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND held = 1)
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'delayed')
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'running');

-- name: enqueue_jobs
-- Accept a job. A known id and a taken unique key both leave it out.
INSERT INTO jobs (id, queue, state, rank, due, spec, lock_key, unique_key)
VALUES (:id, :queue, :state, :rank, :due, :spec, :lock_key, :unique_key)
ON CONFLICT DO NOTHING;

-- name: holder_of_unique_key
-- The live job that has a unique key.
SELECT id FROM jobs
WHERE queue = :queue AND unique_key = :unique_key AND state IN ('delayed', 'queued', 'running');

-- name: next_due
-- When the first delayed job of a queue becomes ready.
SELECT due FROM jobs WHERE queue = :queue AND state = 'delayed' ORDER BY due LIMIT 1;

-- name: has_ready_jobs
-- Whether a claim would find something, now or after making due jobs ready.
SELECT (EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'queued' AND held = 0)
     OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND state = 'delayed' AND due <= :now))
   AND NOT EXISTS (SELECT 1 FROM paused_queues WHERE queue = :queue);

-- name: promote_due_jobs
-- Make delayed jobs ready whose time has come.
UPDATE jobs SET state = 'queued', due = NULL WHERE seq IN (
  SELECT seq FROM jobs WHERE queue = :queue AND state = 'delayed' AND due <= :now ORDER BY due LIMIT :limit);

-- name: claim_candidates
-- The next ready jobs of a queue, in order.
SELECT seq, spec, rank, attempts, deaths, lock_key FROM jobs
WHERE queue = :queue AND state = 'queued' AND held = 0 ORDER BY rank, id LIMIT :limit;

-- name: claimed_jobs
-- Jobs by their numbers, whole, in order: for the rare claim with a record that cannot be read.
SELECT * FROM jobs WHERE seq IN (SELECT value FROM json_each(:seqs)) ORDER BY rank, id;

-- name: is_locked
-- Whether a running job holds a lock.
SELECT EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND lock_key = :lock_key AND state = 'running');

-- name: hold_jobs
-- Set jobs aside until their lock is free.
UPDATE jobs SET held = 1 WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: claim_jobs
-- Hand candidates to a node.
UPDATE jobs SET state = 'running', token = :token, claimed_at = :now WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: free_lock
-- Make the first job ready that waits for a lock.
UPDATE jobs SET held = 0 WHERE seq = (
  SELECT seq FROM jobs WHERE queue = :queue AND lock_key = :lock_key AND held = 1 ORDER BY rank, id LIMIT 1);

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
  rank = :rank, attempts = :attempts, deaths = :deaths, claimed_at = NULL, cancel_requested = 0
WHERE id = :id AND queue = :queue AND token = :token AND state = 'running';

-- name: held_claims
-- The running ones among some jobs.
SELECT id, queue, token, cancel_requested FROM jobs
WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'running';

-- name: claims_of_node
-- Claims of one node on a queue.
SELECT seq, id, queue, token, spec, rank, attempts, deaths, lock_key, unique_key, cancel_requested FROM jobs
WHERE queue = :queue AND state = 'running' AND token >= :low AND token < :high LIMIT :limit;

-- name: recover_claims
-- Put jobs back as they were; those that were to be cancelled are cancelled now.
UPDATE jobs SET
  state = CASE cancel_requested WHEN 1 THEN 'cancelled' ELSE 'queued' END,
  ended_at = CASE cancel_requested WHEN 1 THEN :now END,
  ending = CASE cancel_requested WHEN 1 THEN :ending END,
  token = '', claimed_at = NULL, cancel_requested = 0
WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: find_job
-- One job, whole.
SELECT * FROM jobs WHERE id = :id;

-- name: cancel_waiting
-- End a job that nobody runs.
UPDATE jobs SET state = 'cancelled', due = NULL, held = 0, ended_at = :now, ending = :ending
WHERE id = :id AND state IN ('delayed', 'queued');

-- name: cancel_running
-- Ask the node that runs a job to end it.
UPDATE jobs SET cancel_requested = 1 WHERE id = :id AND state = 'running';

-- name: cancelled_claims
-- What one node is asked to end.
SELECT id FROM jobs WHERE queue = :queue AND cancel_requested = 1 AND token >= :low AND token < :high;

-- name: retry_job
-- Bring an ended job back as new.
UPDATE OR IGNORE jobs SET state = 'queued', rank = :rank, attempts = 0, deaths = 0, token = '', ended_at = NULL,
  ending = NULL
WHERE id = :id AND state IN ('failed', 'cancelled');

-- name: first_lines
-- The first lines of the logs of some jobs, and how long they are.
SELECT job_id, position, length(entry) AS bytes FROM logs
WHERE job_id IN (SELECT value FROM json_each(:ids)) ORDER BY job_id, position LIMIT :limit;

-- name: delete_lines
-- Forget lines of a job up to a position.
DELETE FROM logs WHERE job_id = ? AND position <= ?;

-- name: delete_jobs
-- Forget jobs, which are over.
DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(:ids));

-- name: ended_jobs
-- Those of some jobs that are over, and were by an instant.
SELECT id, queue, state FROM jobs WHERE id IN (SELECT value FROM json_each(:ids)) AND ended_at <= :until;

-- name: count_forgotten
-- So many ended jobs are over no more: forgotten, or brought back.
INSERT INTO forgotten (queue, state, jobs) VALUES (:queue, :state, :jobs)
ON CONFLICT (queue, state) DO UPDATE SET jobs = jobs + excluded.jobs;

-- name: trim_by_age
-- Jobs of one final state that ended before an instant, oldest first.
SELECT ended_at, id FROM jobs WHERE queue = :queue AND state = :state AND ended_at < :before ORDER BY ended_at, id LIMIT :limit;

-- name: count_ended
-- How many jobs of a queue are over, by state: every end was counted, and so was what became of them.
SELECT state, SUM(jobs) AS jobs FROM (
  SELECT word AS state, jobs FROM stats WHERE queue = :queue AND minute = 0
  UNION ALL SELECT state, -jobs FROM forgotten WHERE queue = :queue)
GROUP BY state;

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
SELECT COUNT(*) FROM jobs WHERE queue = :queue AND state = 'queued' AND held = 0;

-- name: count_held
-- Jobs that wait for a lock.
SELECT COUNT(*) FROM jobs WHERE queue = :queue AND held = 1;

-- name: count_delayed
-- Jobs that wait for their time.
SELECT COUNT(*) FROM jobs WHERE queue = :queue AND state = 'delayed';

-- name: count_running
-- Jobs in the hands of nodes.
SELECT COUNT(*) FROM jobs WHERE queue = :queue AND state = 'running';

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
-- Every queue that has jobs, counts or a definition. Each index is asked for its next queue; DISTINCT would read all rows.
WITH RECURSIVE
  ended (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE ended_at IS NOT NULL
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE ended_at IS NOT NULL AND queue > ended.queue) FROM ended WHERE queue IS NOT NULL),
  ready (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE state = 'queued' AND held = 0
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE state = 'queued' AND held = 0 AND queue > ready.queue) FROM ready WHERE queue IS NOT NULL),
  held (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE held = 1
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE held = 1 AND queue > held.queue) FROM held WHERE queue IS NOT NULL),
  delayed (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE state = 'delayed'
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE state = 'delayed' AND queue > delayed.queue) FROM delayed WHERE queue IS NOT NULL),
  running (queue) AS (
    SELECT MIN(queue) FROM jobs WHERE state = 'running'
    UNION ALL SELECT (SELECT MIN(queue) FROM jobs WHERE state = 'running' AND queue > running.queue) FROM running WHERE queue IS NOT NULL),
  counted (queue) AS (
    SELECT MIN(queue) FROM stats
    UNION ALL SELECT (SELECT MIN(queue) FROM stats WHERE queue > counted.queue) FROM counted WHERE queue IS NOT NULL)
SELECT uuid FROM node_types
UNION SELECT queue FROM (
  SELECT queue FROM ended UNION SELECT queue FROM ready UNION SELECT queue FROM held
  UNION SELECT queue FROM delayed UNION SELECT queue FROM running UNION SELECT queue FROM counted)
WHERE queue IS NOT NULL;

-- name: is_queue_used
-- Whether a queue has a node type or anything that lives in it.
SELECT EXISTS (SELECT 1 FROM node_types WHERE uuid = :queue)
    OR EXISTS (SELECT 1 FROM jobs WHERE queue = :queue AND ended_at IS NOT NULL)
    OR EXISTS (SELECT 1 FROM schedules WHERE queue = :queue)
    OR EXISTS (SELECT 1 FROM configurations WHERE queue = :queue);

-- name: forget_stats
-- Forget what was counted in a queue.
DELETE FROM stats WHERE queue = :queue;

-- name: forget_forgotten
-- Forget how many ended jobs were forgotten, which counts only together with the stats.
DELETE FROM forgotten WHERE queue = :queue;

-- name: forget_pulses
-- Forget what nodes said on a queue.
DELETE FROM pulses WHERE queue = :queue;

-- name: forget_fence
-- Forget the last number that a run under a lock was given.
DELETE FROM fences WHERE queue = :queue;

-- name: forget_outbox
-- Forget ends that nobody took.
DELETE FROM outbox WHERE queue = :queue;

-- name: page_delayed
-- Delayed jobs by time.
SELECT due AS place, * FROM jobs
WHERE queue = :queue AND state = 'delayed' AND (due, id) > (:place, :id) ORDER BY due, id LIMIT :limit;

-- name: page_queued
-- Ready jobs in the order of their claim.
SELECT rank AS place, * FROM jobs
WHERE queue = :queue AND state = 'queued' AND held = 0 AND (rank, id) > (:place, :id) ORDER BY rank, id LIMIT :limit;

-- name: page_held
-- Jobs that wait for a lock; few enough to be sorted.
SELECT rank AS place, * FROM jobs
WHERE queue = :queue AND held = 1 AND (rank, id) > (:place, :id) ORDER BY rank, id LIMIT :limit;

-- name: page_running
-- Running jobs by the time of their claim; few enough to be sorted.
SELECT claimed_at AS place, * FROM jobs
WHERE queue = :queue AND state = 'running' AND (claimed_at, id) > (:place, :id) ORDER BY claimed_at, id LIMIT :limit;

-- name: page_ended
-- Jobs that ended in one state, latest first.
SELECT ended_at AS place, * FROM jobs
WHERE queue = :queue AND state = :state AND ended_at IS NOT NULL AND (ended_at, id) < (:place, :id)
ORDER BY ended_at DESC, id DESC LIMIT :limit;

-- name: append_logs
-- One more line.
INSERT INTO logs (job_id, position, entry) VALUES (:job_id, :position, :entry);

-- name: next_position
-- Where the next line of a job goes.
SELECT COALESCE(MAX(position), -1) + 1 FROM logs WHERE job_id = :job_id;

-- name: read_logs
-- Lines from a position on.
SELECT position, entry FROM logs WHERE job_id = :job_id AND position >= :after ORDER BY position LIMIT :limit;

-- name: beat
-- A node lives.
INSERT INTO nodes (uuid, last_ping, body) VALUES (:uuid, :last_ping, :body)
ON CONFLICT (uuid) DO UPDATE SET last_ping = excluded.last_ping, body = excluded.body;

-- name: put_clock
-- What a process reads from its clock, and when, by the time since the machine was started.
INSERT INTO clocks (process, uptime, reading) VALUES (:process, :uptime, :reading)
ON CONFLICT (process) DO UPDATE SET uptime = excluded.uptime, reading = excluded.reading;

-- name: trim_clocks
-- Forget processes that are long gone, and those from before the machine was started.
DELETE FROM clocks WHERE uptime < :uptime - 3600000 OR uptime > :uptime;

-- name: read_clocks
-- What other processes read.
SELECT reading FROM clocks WHERE process <> :process AND uptime >= :since;

-- name: list_nodes
-- Nodes that beat lately.
SELECT uuid, last_ping, body FROM nodes WHERE last_ping >= :since ORDER BY uuid;

-- name: remove_node
-- Forget one node.
DELETE FROM nodes WHERE uuid = :uuid;

-- name: remove_silent_nodes
-- Forget nodes that fell silent.
DELETE FROM nodes WHERE last_ping < :silent_since;

-- name: create_schedule
-- A new schedule; a taken uuid leaves it out, a taken name breaks the constraint.
INSERT INTO schedules (uuid, name, queue, job_type, due, version, body, state)
VALUES (:uuid, :name, :queue, :job_type, :due, :version, :body, :state) ON CONFLICT (uuid) DO NOTHING;

-- name: replace_schedule
-- Change a schedule that nobody changed since.
UPDATE schedules SET name = :name, queue = :queue, job_type = :job_type, due = :due, version = :version, body = :body,
  state = :state
WHERE uuid = :uuid AND version = :expected;

-- name: delete_schedule
-- Forget a schedule.
DELETE FROM schedules WHERE uuid = :uuid;

-- name: delete_ticks
-- Forget the ticks of schedules.
DELETE FROM ticks WHERE schedule IN (SELECT value FROM json_each(:uuids));

-- name: find_schedule
-- One schedule.
SELECT uuid, body, state FROM schedules WHERE uuid = :uuid;

-- name: schedule_uuid
-- A schedule by its name.
SELECT uuid FROM schedules WHERE name = :name;

-- name: list_schedules
-- Schedules by name.
SELECT uuid, name, body, state FROM schedules WHERE name > :after ORDER BY name LIMIT :limit;

-- name: list_schedules_of_job_type
-- Schedules of one job type, by name.
SELECT uuid, name, body, state FROM schedules WHERE job_type = :job_type AND name > :after ORDER BY name LIMIT :limit;

-- name: next_due_schedule
-- When the first schedule of a queue is due.
SELECT due FROM schedules WHERE queue = :queue AND due IS NOT NULL ORDER BY due LIMIT 1;

-- name: due_schedules
-- Schedules whose time has come.
SELECT rowid AS seq, uuid, body, state FROM schedules
WHERE queue = :queue AND due IS NOT NULL AND due <= :now ORDER BY due LIMIT :limit;

-- name: claim_due_schedules
-- Hide schedules from other schedulers for a while.
UPDATE schedules SET due = :until WHERE rowid IN (SELECT value FROM json_each(:seqs));

-- name: fire_schedule
-- Move a schedule on that nobody changed since.
UPDATE schedules SET version = :version, due = :due, state = :state WHERE uuid = :uuid AND version = :expected;

-- name: put_tick
-- The one row of a nominal instant.
INSERT INTO ticks (schedule, nominal, body) VALUES (:schedule, :nominal, :body) ON CONFLICT DO NOTHING;

-- name: trim_ticks
-- Keep the latest rows only.
DELETE FROM ticks WHERE schedule = :schedule AND nominal <= (
  SELECT nominal FROM ticks WHERE schedule = :schedule ORDER BY nominal DESC LIMIT 1 OFFSET :keep);

-- name: list_ticks
-- Rows of a schedule, latest first.
SELECT body FROM ticks WHERE schedule = :schedule AND nominal < :before ORDER BY nominal DESC LIMIT :limit;

-- name: states_of_jobs
-- Where some jobs are.
SELECT id, state FROM jobs WHERE id IN (SELECT value FROM json_each(:ids));

-- name: create_configuration
-- A new configuration; a taken uuid leaves it out, a taken name breaks the constraint.
INSERT INTO configurations (uuid, name, queue, version, body, state)
VALUES (:uuid, :name, :queue, :version, :body, :state) ON CONFLICT (uuid) DO NOTHING;

-- name: replace_configuration
-- Change a configuration that nobody changed since.
UPDATE configurations SET name = :name, queue = :queue, version = :version, body = :body, state = :state
WHERE uuid = :uuid AND version = :expected;

-- name: find_configuration
-- One configuration.
SELECT seq, uuid, body, state FROM configurations WHERE uuid = :uuid;

-- name: configuration_uuid
-- A configuration by its name.
SELECT uuid FROM configurations WHERE name = :name;

-- name: list_configurations
-- Configurations by name.
SELECT seq, uuid, name, body, state FROM configurations WHERE name > :after ORDER BY name LIMIT :limit;

-- name: listening_configurations
-- Those with a dependency of one type.
SELECT uuid, body FROM configurations
WHERE seq IN (SELECT configuration FROM dependency_index WHERE type = :type) ORDER BY name;

-- name: unindex_configuration
-- Forget all dependencies of a configuration.
DELETE FROM dependency_index WHERE configuration = :seq;

-- name: delete_configuration
-- Forget a configuration.
DELETE FROM configurations WHERE seq = :seq;

-- name: delete_validations
-- Forget what validated a configuration.
DELETE FROM validations WHERE configuration = :seq;

-- name: delete_evaluations
-- Forget how a configuration was evaluated.
DELETE FROM evaluations WHERE configuration = :seq;

-- name: index_dependency
-- Let a configuration be found.
INSERT INTO dependency_index (type, kind, start, configuration) VALUES (:type, :kind, :start, :seq)
ON CONFLICT DO NOTHING;

-- name: unindex_dependency
-- Let a configuration no longer be found.
DELETE FROM dependency_index WHERE type = :type AND kind = :kind AND start = :start AND configuration = :seq;

-- name: match_dependencies
-- Where the configurations live that are found under a key.
SELECT queue, uuid FROM dependency_index JOIN configurations ON seq = configuration
WHERE type = :type AND kind = :kind AND start = :start ORDER BY configuration;

-- name: last_beginning
-- The greatest stored beginning up to a bound.
SELECT start FROM dependency_index WHERE type = :type AND kind = '^' AND start <= :bound ORDER BY start DESC LIMIT 1;

-- name: apply_verdicts
-- Move a configuration on that nobody changed since.
UPDATE configurations SET version = :version, state = :state WHERE uuid = :uuid AND version = :expected RETURNING seq;

-- name: put_validation
-- An event that validated a dependency.
INSERT INTO validations (configuration, received_at, event, dependency, own_id, body)
VALUES (:seq, :received_at, :event, :dependency, :own_id, :body) ON CONFLICT DO NOTHING;

-- name: put_evaluation
-- What an event meant.
INSERT INTO evaluations (configuration, number, body) VALUES (:seq, :number, :body);

-- name: trim_validations
-- Forget what is too old, and what is too much.
DELETE FROM validations WHERE configuration = :seq AND (received_at < :before OR received_at < (
  SELECT received_at FROM validations WHERE configuration = :seq ORDER BY received_at DESC LIMIT 1 OFFSET :keep));

-- name: trim_evaluations
-- Keep the latest ones only.
DELETE FROM evaluations WHERE configuration = :seq AND number <= (
  SELECT number FROM evaluations WHERE configuration = :seq ORDER BY number DESC LIMIT 1 OFFSET :keep);

-- name: known_events
-- Which of some ids validated a configuration.
SELECT DISTINCT own_id FROM validations
WHERE configuration = :seq AND own_id IN (SELECT value FROM json_each(:ids)) AND own_id IS NOT NULL;

-- name: list_evaluations
-- Evaluations of a configuration, latest first.
SELECT evaluations.body FROM evaluations JOIN configurations ON seq = configuration
WHERE uuid = :uuid ORDER BY number DESC LIMIT :limit;

-- name: list_validations
-- What validated a configuration, the last received first.
SELECT validations.body FROM validations JOIN configurations ON seq = configuration
WHERE uuid = :uuid ORDER BY received_at DESC, event DESC, dependency DESC LIMIT :limit;

-- name: put_outbox
-- The end of a job, to be taken as an event.
INSERT INTO outbox (queue, event, body) VALUES (:queue, :event, :body) ON CONFLICT DO NOTHING;

-- name: read_outbox
-- What is yet to be taken, oldest first.
SELECT event, body FROM outbox WHERE queue = :queue ORDER BY seq LIMIT :limit;

-- name: clear_outbox
-- Forget what was taken.
DELETE FROM outbox WHERE event IN (SELECT value FROM json_each(:events));
