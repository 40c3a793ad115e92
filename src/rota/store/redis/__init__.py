"""The cluster store: Redis or Valkey, single, behind Sentinel, or a cluster. The contract is in `rota.store`."""
