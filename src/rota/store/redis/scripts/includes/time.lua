-- This server's time, in epoch milliseconds.
local function server_time()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end

-- The earlier of a caller's time and this server's: a caller whose clock is ahead makes nothing early.
local function not_ahead(now, mine)
  mine = mine or server_time()
  return tonumber(mine) < tonumber(now) and mine or now
end
