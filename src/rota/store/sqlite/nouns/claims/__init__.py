"""Jobs in the hands of nodes: given out, ended, put back; their locks, and the pulses of the nodes that have them."""
