-- Jobs that wait for a lock. A member of `held` is the lock with its length, the rank and the id, so that members of one
-- lock, and of no other, lie together in the order in which they are to run. Ranks may be negative: shifted by 2^52 and
-- padded they sort as text, and stay exact.

local function held_prefix(lock)
  return #lock .. ':' .. lock
end

local function held_member(lock, rank, id)
  return held_prefix(lock) .. '\0' .. string.format('%020.0f', tonumber(rank) + 4503599627370496) .. '\0' .. id
end

-- Make the first job ready that waits for a lock nobody holds. Returns whether there was one.
local function free_lock(locks, held, ready, lock)
  if redis.call('HEXISTS', locks, lock) == 1 then return false end
  local prefix = held_prefix(lock)
  local first = redis.call('ZRANGEBYLEX', held, '[' .. prefix .. '\0', '(' .. prefix .. '\1', 'LIMIT', 0, 1)[1]
  if not first then return false end
  local rank, id = string.match(first, '^.*%z(%d+)%z([^%z]*)$')
  redis.call('ZREM', held, first)
  redis.call('ZADD', ready, tonumber(rank) - 4503599627370496, id)
  return true
end
