-- How many ended jobs of a queue were forgotten or brought back. With the stats of all time, which count every end, this
-- tells how many there are without counting them.

CREATE TABLE forgotten (
  queue TEXT NOT NULL,
  state TEXT NOT NULL,
  jobs  INTEGER NOT NULL,
  PRIMARY KEY (queue, state)
) STRICT, WITHOUT ROWID;

INSERT INTO forgotten (queue, state, jobs)
SELECT queue, state, SUM(jobs) FROM (
  SELECT queue, word AS state, jobs FROM stats
  WHERE minute = 0 AND word IN ('succeeded', 'failed', 'cancelled')
  UNION ALL
  SELECT queue, state, -COUNT(*) AS jobs FROM jobs WHERE ended_at IS NOT NULL GROUP BY queue, state)
GROUP BY queue, state;
