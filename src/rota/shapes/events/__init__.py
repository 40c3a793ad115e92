"""The native JSON of events, of the configurations that wait for them, and of what the ones meant for the others."""
