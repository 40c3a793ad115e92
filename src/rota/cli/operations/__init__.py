"""Section Operations of `rota --help`."""
