"""Section Time of `rota --help`."""
