"""Bodies of requests: from bytes to the values that an operation takes, within bounds."""
