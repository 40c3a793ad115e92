-- Give out schedules whose time has come and hide them from other schedulers for a while. A caller whose clock is ahead of
-- the server's gets nothing early.
--
-- KEYS[1] schedules  hash: schedule uuid -> schedule
-- KEYS[2] states     hash: schedule uuid -> version, a space, state
-- KEYS[3] due        sorted set: schedule uuid by the time at which it is to be decided
-- KEYS[4] running    hash: job id -> token, rank, when it began (0: it waits in its node's buffer)
-- KEYS[5] ended      hash: job id -> ending
-- KEYS[6] jobs       hash: job id -> spec
-- KEYS[7] giving_way  set: jobs of other queues that are yet to be cancelled
-- ARGV[1] now       epoch milliseconds
-- ARGV[2] lease_ms
-- ARGV[3] limit
-- ARGV[4] most_jobs  jobs of schedules to look up; the schedules behind them stay
-- Returns the instant by which it was judged, the next due time or '', the jobs that are yet to be cancelled, then per
--   schedule a list: schedule, state, and per job of its state where that is; or, if it is on its way to another queue, uuid
--   and what its state says.
-- include: moves
-- include: schedule_entry
-- include: time
local schedules, states, due, running, ended, jobs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local giving_way = KEYS[7]
local now, limit, most_jobs = not_ahead(ARGV[1]), ARGV[3], tonumber(ARGV[4])
local lease_until = string.format('%.0f', now + ARGV[2])

local answer = {tonumber(now), '', redis.call('SMEMBERS', giving_way)}
local uuids = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, limit)
if #uuids > 0 then
  local bodies = redis.call('HMGET', schedules, unpack(uuids))
  local kept = redis.call('HMGET', states, unpack(uuids))
  local hidden, looked_up = {}, 0
  for n, uuid in ipairs(uuids) do
    local entry = schedule_entry(uuid, bodies[n], kept[n], running, ended, jobs)
    hidden[#hidden + 1] = lease_until
    hidden[#hidden + 1] = uuid
    answer[#answer + 1] = entry
    looked_up = looked_up + #entry - 2
    if looked_up >= most_jobs then break end
  end
  redis.call('ZADD', due, unpack(hidden))
end
answer[2] = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2] or ''
return answer
