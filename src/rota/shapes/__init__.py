"""The native JSON, of the API and of `--json`: fields and shapes. Rules and routes are elsewhere."""
