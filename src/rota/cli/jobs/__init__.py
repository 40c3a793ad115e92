"""Section Jobs of `rota --help`."""
