"""When a schedule fires: cron, interval, unit frequency, once. Pure functions of their arguments; no clock, no I/O.

Instants are epoch milliseconds at every public function. Cron reading is `cron_parser` (text to `Cron`), its engine
`cron_fires` (next, between, count), its voice `words`, `cron_warnings` and `dst_notes`. `trigger` joins all kinds,
`catch_up` decides what is due after a gap.
"""
