"""The cluster store: Redis or Valkey, single, behind Sentinel, or a cluster."""
