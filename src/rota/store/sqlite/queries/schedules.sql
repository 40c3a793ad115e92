-- Schedules and their ticks. `:uuids` and `:seqs` are JSON arrays.

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

-- name: next_schedules
-- Schedules of a queue by when they are due.
SELECT uuid, body, state FROM schedules WHERE queue = :queue AND due IS NOT NULL ORDER BY due LIMIT :limit;

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
