-- Configurations, what events did to them, and the outbox. `:ids` and `:events` are JSON arrays.

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

-- name: record_events
-- An event that was taken; one that is there stays as it is.
INSERT INTO event_records (id, body) VALUES (:id, :body) ON CONFLICT (id) DO NOTHING;

-- name: trim_events
-- Keep the latest ones only.
DELETE FROM event_records WHERE seq <= (SELECT max(seq) FROM event_records) - :keep;

-- name: list_events
-- Events that were taken, the latest first.
SELECT body FROM event_records WHERE :before IS NULL OR id < :before ORDER BY id DESC LIMIT :limit;

-- name: put_outbox
-- The end of a job, to be taken as an event.
INSERT INTO outbox (queue, event, body) VALUES (:queue, :event, :body) ON CONFLICT DO NOTHING;

-- name: read_outbox
-- What is yet to be taken, oldest first.
SELECT event, body FROM outbox WHERE queue = :queue ORDER BY seq LIMIT :limit;

-- name: clear_outbox
-- Forget what was taken.
DELETE FROM outbox WHERE event IN (SELECT value FROM json_each(:events));
