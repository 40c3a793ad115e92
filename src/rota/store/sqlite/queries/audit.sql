-- Who changed what.

-- name: append_audit
-- Add an entry; one that is there stays as it is.
INSERT INTO audit (id, entry) VALUES (:id, :entry) ON CONFLICT (id) DO NOTHING;

-- name: find_audit
-- One entry.
SELECT entry FROM audit WHERE id = :id;

-- name: settle_audit
-- Put an entry in the place of one that is not done.
UPDATE audit SET entry = :entry WHERE id = :id;

-- name: drop_audit
-- Forget an entry that is not done: its change was not made.
DELETE FROM audit WHERE id = :id;

-- name: list_audit
-- Entries before an id, the latest first.
SELECT entry FROM audit WHERE :before IS NULL OR id < :before ORDER BY id DESC LIMIT :limit;

-- name: newest_audit
-- The newest entry before an id.
SELECT max(id) AS id FROM audit WHERE id < :before;

-- name: pass_audit
-- The entry that is so many before another.
SELECT id FROM audit WHERE id <= :id ORDER BY id DESC LIMIT 1 OFFSET :passed;

-- name: trim_audit
-- Forget some of the entries up to an id, the oldest first.
DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id <= :until ORDER BY id LIMIT :limit);
