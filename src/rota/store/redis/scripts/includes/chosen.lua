-- Ids that callers chose are looked for in all queues before their jobs are accepted. `chosen` has the latest of them that were
-- handed in, each with a number, so that the step which accepts jobs knows whether one came since that look, in whichever queue.
local MOST_CHOSEN = 10000

local function last_chosen(chosen)
  return tonumber(redis.call('ZRANGE', chosen, -1, -1, 'WITHSCORES')[2] or 0)
end

-- Whether one of the ids may have come after the number that was the last before the look.
local function came_since(chosen, seen, ids)
  if last_chosen(chosen) <= seen then return false end
  local oldest = redis.call('ZRANGE', chosen, 0, 0, 'WITHSCORES')[2]
  if tonumber(oldest) > seen + 1 then return true end
  for _, id in ipairs(ids) do
    if tonumber(redis.call('ZSCORE', chosen, id) or 0) > seen then return true end
  end
  return false
end

local function remember_chosen(chosen, ids)
  local last, numbered = last_chosen(chosen), {}
  for n, id in ipairs(ids) do numbered[2 * n - 1], numbered[2 * n] = last + n, id end
  add_all(chosen, numbered)
  redis.call('ZREMRANGEBYRANK', chosen, 0, -MOST_CHOSEN - 1)
end
