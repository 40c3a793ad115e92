"""Who is alive: the heart that says so, the watchdog that judges, the files that tell at once."""
