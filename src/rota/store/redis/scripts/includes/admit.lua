-- Accept jobs into one queue, each once. `entries` from `first` to `last` has per job: id, spec, rank, due time or '', mark
-- or '', unique key or ''. Returns pairs of a job's number (from 0) and the id of the surviving job, for jobs that were not
-- accepted. Tells a waiting node. Only jobs with a mark may be in a series.
local function admit(jobs, ready, delayed, unique, marks, wake, series, entries, first, last)
  local ids = {}
  for n = 1, (last - first + 1) / 6 do ids[n] = entries[first + (n - 1) * 6] end
  if #ids == 0 then return {} end
  local known = get_all(jobs, ids)

  local refused, seen = {}, {}
  local new_specs, new_ready, new_delayed, new_marks = {}, {}, {}, {}
  -- What every job has is counted: `#` searches for the end of a table, and this is one step for thousands of jobs.
  local specs, readies = 0, 0
  for n = 1, #ids do
    local at = first + (n - 1) * 6 - 1
    local id, due, mark, unique_key = ids[n], entries[at + 4], entries[at + 5], entries[at + 6]
    local survivor = (known[n] or seen[id]) and id or nil
    if not survivor and unique_key ~= '' then
      survivor = redis.call('HGET', unique, unique_key) or nil
      if not survivor then redis.call('HSET', unique, unique_key, id) end
    end
    if survivor then
      refused[#refused + 1] = n - 1
      refused[#refused + 1] = survivor
    else
      seen[id] = true
      new_specs[specs + 1], new_specs[specs + 2] = id, entries[at + 2]
      specs = specs + 2
      if due == '' then
        new_ready[readies + 1], new_ready[readies + 2] = entries[at + 3], id
        readies = readies + 2
      else
        new_delayed[#new_delayed + 1] = due
        new_delayed[#new_delayed + 1] = id
      end
      if mark ~= '' then
        new_marks[#new_marks + 1] = id
        new_marks[#new_marks + 1] = mark
        for _, member in ipairs(series_members(entries[at + 2], id)) do redis.call('ZADD', series, 0, member) end
      end
    end
  end

  set_all(jobs, new_specs)
  set_all(marks, new_marks)
  if #new_delayed > 0 then
    add_all(delayed, new_delayed)
    -- A waiting node may have planned to sleep past the new first one.
    if seen[redis.call('ZRANGE', delayed, 0, 0)[1]] then signal(wake) end
  end
  if #new_ready > 0 then
    add_all(ready, new_ready)
    signal(wake)
  end
  return refused
end
