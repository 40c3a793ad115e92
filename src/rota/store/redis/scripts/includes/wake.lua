-- Leave word for one waiting node that jobs became ready, unless word is left already.
local function leave_word(wake)
  if redis.call('EXISTS', wake) == 0 then redis.call('RPUSH', wake, '1') end
end
