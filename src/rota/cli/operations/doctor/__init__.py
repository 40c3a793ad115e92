"""`rota doctor`: what it checks, one file per kind of thing."""
