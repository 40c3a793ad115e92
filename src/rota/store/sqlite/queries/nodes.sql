-- The records of nodes.

-- name: beat
-- A node lives.
INSERT INTO nodes (uuid, last_ping, body) VALUES (:uuid, :last_ping, :body)
ON CONFLICT (uuid) DO UPDATE SET last_ping = excluded.last_ping, body = excluded.body;

-- name: list_nodes
-- Nodes that beat lately.
SELECT uuid, last_ping, body FROM nodes WHERE last_ping >= :since ORDER BY uuid;

-- name: remove_node
-- Forget one node.
DELETE FROM nodes WHERE uuid = :uuid;

-- name: remove_silent_nodes
-- Forget nodes that fell silent.
DELETE FROM nodes WHERE last_ping < :silent_since;
