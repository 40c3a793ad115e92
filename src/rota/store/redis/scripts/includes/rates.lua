-- Rates: of the jobs with the same rate key so many start within a period, the others are limited until it allows them. A rate
-- key begins with its rate: `10/60000/name` allows 10 within a minute. Starts are groups, oldest first: an instant and how
-- many; those of more than 64 share groups of a 64th of the period. `rota/model/rate.py` has the same rule in words.
local EXACT, LATE = 64, 60000

-- Limited jobs are among the blocked ones, under a name that no lock has.
local function limited_prefix(rate_key)
  return 'rate ' .. blocked_prefix(rate_key)
end

-- The instant of a start: by this server's clock, because a caller may have read its own some time ago. A caller that is far
-- behind goes by a time of its own.
local function judged_at(now, server)
  return server < now + LATE and server or now
end

-- What counts of a rate key at an instant; nothing if the key is none that can be read, which limits nobody. What lies ahead
-- counts too, unless it is so far ahead of this server's clock that it was written by one that was wrong. Limited jobs that are
-- due are looked at again at once, unless this claim comes to them.
local function count_of(rates, rates_due, rate_key, at, server)
  local limit, period = string.match(rate_key, '^(%d+)/(%d+)/')
  if not limit then return nil end
  local count = {limit = tonumber(limit), period = tonumber(period), used = 0, groups = {}}
  local due = redis.call('ZSCORE', rates_due, rate_key)
  count.again = due and tonumber(due) <= at
  for last, number in string.gmatch(redis.call('HGET', rates, rate_key) or '', '(%d+) (%d+)') do
    last, number = tonumber(last), tonumber(number)
    if last > at - count.period and last < server + count.period then
      count.groups[#count.groups + 1] = {last, number}
      count.used = count.used + number
    end
  end
  return count
end

-- Count a start, unless the rate is used up; tells whether it is counted.
local function start(count, at)
  if count.used >= count.limit then return false end
  local span = count.limit <= EXACT and 1 or math.max(math.floor(count.period / EXACT), 1)
  local last, groups = (math.floor(at / span) + 1) * span - 1, count.groups
  if #groups > 0 and groups[#groups][1] >= last then
    groups[#groups][2] = groups[#groups][2] + 1
  else
    groups[#groups + 1] = {last, 1}
  end
  count.used = count.used + 1
  return true
end

-- Make the first limited jobs of a rate ready, as many as it allows, at most so many; returns how many. One that is over is
-- there if a version cancelled it that knows no rates. There is more to be looked at if some were left or over.
local function free_limited(blocked, ready, rate_key, count, most, is_over)
  local wanted = math.min(count.limit - count.used, most)
  count.again = wanted < count.limit - count.used
  if wanted < 1 then return 0 end
  local freed, over = free_first(blocked, ready, limited_prefix(rate_key), wanted, is_over)
  count.again = count.again or over > 0
  return freed
end

-- Keep what counts of a rate, and when its limited jobs are looked at again. Nothing counts from the time in `spent` on.
local function put_count(rates, rates_due, rates_spent, blocked, rate_key, count, at)
  local groups, texts = count.groups, {}
  for n, group in ipairs(groups) do texts[n] = string.format('%.0f %.0f', group[1], group[2]) end
  redis.call('HSET', rates, rate_key, table.concat(texts, ' '))
  redis.call('ZADD', rates_spent, (#groups > 0 and groups[#groups][1] or at) + count.period, rate_key)
  if first_waiting(blocked, limited_prefix(rate_key), 1)[1] then
    local is_due = count.again and count.used < count.limit
    redis.call('ZADD', rates_due, is_due and at or (#groups > 0 and groups[1][1] or at) + count.period, rate_key)
  else
    redis.call('ZREM', rates_due, rate_key)
  end
end

-- Look at the limited jobs of a rate at once, if there are any: one that it allowed does not start.
local function look_again(rates_due, rate_key, at)
  local due = redis.call('ZSCORE', rates_due, rate_key)
  if not due or tonumber(due) <= tonumber(at) then return false end
  redis.call('ZADD', rates_due, at, rate_key)
  return true
end

-- Whether jobs wait for a rate. All that did may have been cancelled since.
local function is_waited_for(rates_due, blocked, rate_key)
  return redis.call('ZSCORE', rates_due, rate_key) and first_waiting(blocked, limited_prefix(rate_key), 1)[1]
end

-- Look at some rates of which nothing counts any more, and forget those for which nobody waits; returns how many. The others
-- are looked at again a period later, so that they keep none behind them.
local function forget_rates(rates, rates_due, rates_spent, blocked, at, most)
  local forgotten = 0
  for _, rate_key in ipairs(redis.call('ZRANGEBYSCORE', rates_spent, '-inf', at, 'LIMIT', 0, most)) do
    if is_waited_for(rates_due, blocked, rate_key) then
      redis.call('ZADD', rates_spent, at + string.match(rate_key, '^%d+/(%d+)/'), rate_key)
    else
      redis.call('HDEL', rates, rate_key)
      redis.call('ZREM', rates_due, rate_key)
      redis.call('ZREM', rates_spent, rate_key)
      forgotten = forgotten + 1
    end
  end
  return forgotten
end
