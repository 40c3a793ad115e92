"""Section Definitions of `rota --help`."""
