#!/bin/sh
# The body of a shell job: shell_job.sh STEPS LOCK. It takes so many steps of half a second, with a child that writes to the ledger too,
# and a sleeping grandchild that it leaves behind: whoever ends the job has to end these. The lines are those of ledger.py.
set -eu
steps="$1"
lock="$2"

tell() {
    read -r uptime _ </proc/uptime # seconds since boot, with two digits behind the point
    printf '%s %s %s %s %s %s %s\n' "$1" "$run" "$ROTA_JOB_ID" "$ROTA_JOB_ATTEMPT" "$SOAK_NODE" "${uptime%.*}${uptime#*.}0" "$lock" >>"$SOAK_LEDGER"
}

read -r begun _ </proc/uptime
run="$$-$begun"
tell start
sync "$SOAK_LEDGER"

( sleep 600 & while :; do sleep 0.5; tell goes_on; done ) &
child=$!
while [ "$steps" -gt 0 ]; do
    sleep 0.5
    steps=$((steps - 1))
done

# The child must not write after the end: what it writes then would look like a second run of the lock.
kill "$child"
wait "$child" || true
tell end
sync "$SOAK_LEDGER"
