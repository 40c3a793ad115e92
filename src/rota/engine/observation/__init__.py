"""What happens in a process, told in one vocabulary, and what is made of it: log lines, counters, OpenTelemetry. Who
tells is elsewhere: every part of the engine says what it does."""
