-- The members that a job has in the sorted set of all series: series, time of making and id, with tabs between them. Nearly
-- all jobs are in none, and their specs are not decoded. What is of another type than this version writes is left out: an
-- error here would end a script that has half done its work.
local function series_members(spec, id)
  if not spec or not string.find(spec, '"series":[', 1, true) then return {} end
  local is_read, fields = pcall(cjson.decode, spec)
  if not is_read or type(fields) ~= 'table' or type(fields.series) ~= 'table' then return {} end
  if type(fields.enqueued_at) ~= 'number' then return {} end
  local members = {}
  for _, name in ipairs(fields.series) do
    if type(name) == 'string' then members[#members + 1] = string.format('%s\t%015.0f\t%s', name, fields.enqueued_at, id) end
  end
  return members
end
