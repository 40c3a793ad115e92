-- What is known of a schedule: its body, its state, and per job of its state where that job is. Of one that is on its way to
-- another queue: its uuid and what its state says instead. Needs moves.
-- Nothing is decoded here: most schedules have no job in flight, ids hold no brackets, and an ending begins with its state.
local function schedule_entry(uuid, body, state, running, ended, jobs)
  if is_moving(state) then return {uuid, state} end
  local entry = {body, string.match(state or '', '^%d+ (.*)$')}
  local ids = entry[2] and string.match(entry[2], '"jobs":%[(.-)%]')
  if not ids then return entry end
  for id in string.gmatch(ids, '"([^"]+)"') do
    local place = 'waiting'
    local ending = redis.call('HGET', ended, id)
    if ending then
      place = string.match(ending, '^{"state":"(%a+)"') or 'gone'
    elseif redis.call('HEXISTS', running, id) == 1 then
      place = 'running'
    elseif redis.call('HEXISTS', jobs, id) == 0 then
      place = 'gone'
    end
    entry[#entry + 1] = place
  end
  return entry
end
