-- Lines that runs of jobs wrote.

-- name: append_logs
-- One more line.
INSERT INTO logs (job_id, position, entry) VALUES (:job_id, :position, :entry);

-- name: next_position
-- Where the next line of a job goes.
SELECT COALESCE(MAX(position), -1) + 1 FROM logs WHERE job_id = :job_id;

-- name: read_logs
-- Lines from a position on.
SELECT position, entry FROM logs WHERE job_id = :job_id AND position >= :after ORDER BY position LIMIT :limit;
