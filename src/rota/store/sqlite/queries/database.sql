-- What processes that share the file read from their clocks.

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
