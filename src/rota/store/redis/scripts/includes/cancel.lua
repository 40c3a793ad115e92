-- Cancel one job of a queue. Returns 'unknown', 'final', 'cancelled', or the token that holds the running job, which is
-- only marked. The caller counts those that were cancelled. Needs records, locks, rates and wake.
local function cancel_waiting(
  ready, delayed, blocked, locks, unique, marks, ended, cancelled, rates_due, wake, id, now, ending
)
  redis.call('ZREM', ready, id)
  redis.call('ZREM', delayed, id)
  redis.call('HSET', ended, id, ending)
  redis.call('ZADD', cancelled, now, id)
  local text = redis.call('HGET', marks, id)
  if not text then return end
  local mark = mark_of(text)
  if mark.unique then redis.call('HDEL', unique, mark.unique) end
  if mark.lock and mark.rank then
    redis.call('ZREM', blocked, blocked_member(mark.lock, mark.rank, id))
    -- It may have been the one that was made ready when the lock became free.
    if free_lock(locks, blocked, ready, mark.lock) then signal(wake) end
  end
  if mark.rate and mark.rank then
    local was_limited = redis.call('ZREM', blocked, waiting_member(limited_prefix(mark.rate), mark.rank, id)) == 1
    if not was_limited and look_again(rates_due, mark.rate, now) then signal(wake) end
  end
  -- A mark with a past tells how often the job was tried; it stays as long as the job.
  if not mark.attempts and not mark.deaths then redis.call('HDEL', marks, id) end
end

local function cancel(
  jobs, ready, delayed, blocked, running, locks, unique, marks, ended, cancelled, cancelling, rates_due, wake, id, now, ending
)
  local hold = redis.call('HGET', running, id)
  if hold then
    redis.call('HSET', cancelling, id, '1')
    return string.match(hold, '^(.*) %S+ %S+$')
  elseif redis.call('HEXISTS', ended, id) == 1 then
    return 'final'
  elseif redis.call('HEXISTS', jobs, id) == 1 then
    cancel_waiting(ready, delayed, blocked, locks, unique, marks, ended, cancelled, rates_due, wake, id, now, ending)
    return 'cancelled'
  end
  return 'unknown'
end
