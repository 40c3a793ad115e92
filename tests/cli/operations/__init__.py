"""The verbs for whoever runs an installation: doctor, keys, nodes, queues."""
