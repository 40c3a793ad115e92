-- Lines that runs of jobs wrote. At the position -1 is how far a job has come.

-- name: append_logs
-- One more block of lines; its position is that of its last line.
INSERT INTO logs (job_id, position, entry) VALUES (:job_id, :position, :entry);

-- name: count_logs
-- How many lines a job has, which is where the next one goes.
SELECT COALESCE(MAX(position), -1) + 1 FROM logs WHERE job_id = :job_id;

-- name: position_before
-- Where the block before a block ends.
SELECT COALESCE(MAX(position), -1) FROM logs WHERE job_id = :job_id AND position < :position;

-- name: read_logs
-- Blocks from the one on that has a position.
SELECT position, entry FROM logs WHERE job_id = :job_id AND position >= :after ORDER BY position LIMIT :limit;

-- name: note_progress
-- How far a job has come, in the place of what it said before.
INSERT INTO logs (job_id, position, entry) VALUES (:job_id, -1, :entry)
ON CONFLICT (job_id, position) DO UPDATE SET entry = excluded.entry;

-- name: read_progress
-- How far some jobs have come.
SELECT job_id, entry FROM logs WHERE job_id IN (SELECT value FROM json_each(:ids)) AND position = -1;
