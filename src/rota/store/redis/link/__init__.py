"""The line to the Redis servers: addresses, clients, errors, scripts. The operations of the store are elsewhere."""
