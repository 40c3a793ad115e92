-- Node types and job types.

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
