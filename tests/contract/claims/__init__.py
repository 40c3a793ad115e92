"""Jobs in the hands of nodes, their locks, and the pulses of nodes."""
