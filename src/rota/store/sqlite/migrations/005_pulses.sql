-- Who lives is judged by whoever watches, not by a time that was written: leases become pulses.

DROP TABLE leases;

-- What a node last said on a queue, if anything, and up to which serial its claims come too late.
CREATE TABLE pulses (
  queue TEXT NOT NULL,
  node  TEXT NOT NULL,
  pulse TEXT,
  floor INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, node)
) STRICT, WITHOUT ROWID;

-- The last number that a run under a lock was given.
CREATE TABLE fences (
  queue  TEXT PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Nodes of the older layout that hold claims: found dead unless they speak up.
INSERT INTO pulses (queue, node, pulse)
SELECT DISTINCT queue, substr(token, 1, instr(token, '/') - 1), '' FROM jobs WHERE state = 'running';

-- What the clock of each process says: the instant of the machine's start, read after so much uptime.
CREATE TABLE clocks (
  process INTEGER PRIMARY KEY,
  uptime  INTEGER NOT NULL,
  reading INTEGER NOT NULL
) STRICT;
