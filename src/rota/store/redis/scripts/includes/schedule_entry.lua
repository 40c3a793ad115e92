-- What is known of a schedule: its body, its state, and per job of its state where that job is.
local function schedule_entry(body, state, running, ended, jobs)
  local entry = {body, string.match(state, '^%d+ (.*)$')}
  -- Most schedules have no job in flight; theirs are not decoded.
  if not string.find(state, '"jobs":[', 1, true) then return entry end
  for _, id in ipairs(cjson.decode(entry[2]).jobs) do
    local place = 'waiting'
    local ending = redis.call('HGET', ended, id)
    if ending then
      place = cjson.decode(ending).state
    elseif redis.call('HEXISTS', running, id) == 1 then
      place = 'running'
    elseif redis.call('HEXISTS', jobs, id) == 0 then
      place = 'gone'
    end
    entry[#entry + 1] = place
  end
  return entry
end
