-- Jobs that wait for a lock. A member of `blocked` is the lock with its length, the rank and the id, so that members of one
-- lock, and of no other, lie together in the order in which they are to run. Ranks may be negative: shifted by 2^52 and
-- padded they sort as text, and stay exact. Those of jobs that a dialect adopted may have a part behind the point.
-- Jobs that wait for a rate are there too, under a prefix that no lock has.
local SHIFT, PARTS = 4503599627370496, 32768

local function blocked_prefix(lock)
  return #lock .. ':' .. lock
end

local function waiting_member(prefix, rank, id)
  local whole = math.floor(tonumber(rank))
  local part = tonumber(rank) - whole
  local text = string.format('%020.0f', whole + SHIFT) .. (part > 0 and string.format('.%05.0f', part * PARTS) or '')
  return prefix .. '\0' .. text .. '\0' .. id
end

local function blocked_member(lock, rank, id)
  return waiting_member(blocked_prefix(lock), rank, id)
end

local function first_waiting(blocked, prefix, most)
  return redis.call('ZRANGEBYLEX', blocked, '[' .. prefix .. '\0', '(' .. prefix .. '\1', 'LIMIT', 0, most)
end

-- Make the first jobs ready that wait under a prefix, but those of which `is_over` says so; returns how many there were, and how
-- many of them were over.
local function free_first(blocked, ready, prefix, most, is_over)
  local members, over = first_waiting(blocked, prefix, most), 0
  for _, member in ipairs(members) do
    local whole, part, id = string.match(member, '^.*%z(%d+)%.?(%d*)%z([^%z]*)$')
    redis.call('ZREM', blocked, member)
    if is_over and is_over(id) then
      over = over + 1
    else
      redis.call('ZADD', ready, whole - SHIFT + (tonumber(part) or 0) / PARTS, id)
    end
  end
  return #members, over
end

-- Make the first job ready that waits for a lock nobody holds. Returns whether there was one.
local function free_lock(locks, blocked, ready, lock)
  if redis.call('HEXISTS', locks, lock) == 1 then return false end
  return free_first(blocked, ready, blocked_prefix(lock), 1) > 0
end
