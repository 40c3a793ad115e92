-- Keep jobs of one queue as they were elsewhere. One whose id is known stays as it is.
--
-- KEYS[1] jobs       hash: job id -> spec
-- KEYS[2] marks      hash: job id -> mark
-- KEYS[3] unique     hash: unique key -> id of the live job that has it
-- KEYS[4] ended      hash: job id -> ending
-- KEYS[5] series     sorted set, by name: series, time and id of each job that is in one
-- KEYS[6...] places  sorted sets: where the jobs go
-- ARGV[1...] entries  per job: id, spec, number of its place (from 1), its score there, mark or '', ending or '', unique key
--   of a live job or ''
-- Returns nothing.
-- include: series
local jobs, marks, unique, ended, series = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

for i = 1, #ARGV, 7 do
  local id, spec, number, score = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local place = KEYS[5 + number]
  local mark, ending, unique_key = ARGV[i + 4], ARGV[i + 5], ARGV[i + 6]
  if redis.call('HSETNX', jobs, id, spec) == 1 then
    redis.call('ZADD', place, score, id)
    if mark ~= '' then redis.call('HSET', marks, id, mark) end
    if ending ~= '' then redis.call('HSET', ended, id, ending) end
    if unique_key ~= '' then redis.call('HSET', unique, unique_key, id) end
    for _, member in ipairs(series_members(spec, id)) do redis.call('ZADD', series, 0, member) end
  end
end
