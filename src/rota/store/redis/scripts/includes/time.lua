-- The earlier of a caller's time and this server's, in epoch milliseconds: a caller whose clock is ahead makes nothing early.
local function not_ahead(now)
  local time = redis.call('TIME')
  local mine = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  return tonumber(mine) < tonumber(now) and mine or now
end
