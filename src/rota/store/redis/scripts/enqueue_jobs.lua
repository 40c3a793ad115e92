-- Accept jobs into one queue, each once.
--
-- KEYS[1] jobs     hash: job id -> spec
-- KEYS[2] ready    sorted set: queued jobs by rank
-- KEYS[3] delayed  sorted set: delayed jobs by due time
-- KEYS[4] unique   hash: unique key -> id of the live job that has it
-- KEYS[5] marks    hash: job id -> mark
-- KEYS[6] wake     list: word for a waiting node
-- KEYS[7] stats    hash: minute and word -> how many jobs, of an hour
-- KEYS[8] totals   hash: word -> how many jobs in all
-- ARGV[1] minute   epoch milliseconds
-- ARGV[2] expiry   of the stats, in seconds
-- ARGV[3...] entries  per job: id, spec, rank, due time or '', mark or '', unique key or ''
-- Returns pairs of an entry's number (from 0) and the id of the surviving job, for entries that were not accepted.
-- include: wake
-- include: stats
local jobs, ready, delayed, unique, marks, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local stats, totals, minute, expiry = KEYS[7], KEYS[8], ARGV[1], ARGV[2]

local ids = {}
for i = 3, #ARGV, 6 do ids[#ids + 1] = ARGV[i] end
local known = redis.call('HMGET', jobs, unpack(ids))

local refused, seen = {}, {}
local new_specs, new_ready, new_delayed, new_marks = {}, {}, {}, {}
for n = 1, #ids do
  local at = 2 + (n - 1) * 6
  local id, due, mark, unique_key = ids[n], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6]
  local survivor = (known[n] or seen[id]) and id or nil
  if not survivor and unique_key ~= '' then
    survivor = redis.call('HGET', unique, unique_key) or nil
    if not survivor then redis.call('HSET', unique, unique_key, id) end
  end
  if survivor then
    refused[#refused + 1] = n - 1
    refused[#refused + 1] = survivor
  else
    seen[id] = true
    new_specs[#new_specs + 1] = id
    new_specs[#new_specs + 1] = ARGV[at + 2]
    if due == '' then
      new_ready[#new_ready + 1] = ARGV[at + 3]
      new_ready[#new_ready + 1] = id
    else
      new_delayed[#new_delayed + 1] = due
      new_delayed[#new_delayed + 1] = id
    end
    if mark ~= '' then
      new_marks[#new_marks + 1] = id
      new_marks[#new_marks + 1] = mark
    end
  end
end

if #new_specs > 0 then redis.call('HSET', jobs, unpack(new_specs)) end
if #new_marks > 0 then redis.call('HSET', marks, unpack(new_marks)) end
if #new_delayed > 0 then
  redis.call('ZADD', delayed, unpack(new_delayed))
  -- A waiting node may have planned to sleep past the new first one.
  if seen[redis.call('ZRANGE', delayed, 0, 0)[1]] then leave_word(wake) end
end
if #new_ready > 0 then
  redis.call('ZADD', ready, unpack(new_ready))
  leave_word(wake)
end
count_up(stats, totals, minute, expiry, 'enqueued', #new_specs / 2)
return refused
