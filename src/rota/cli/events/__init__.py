"""Section Events of `rota --help`."""
