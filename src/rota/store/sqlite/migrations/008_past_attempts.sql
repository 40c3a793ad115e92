-- The attempts of a job before the present one: when they were, and what went wrong. Absent for most jobs.

ALTER TABLE jobs ADD COLUMN past BLOB;
