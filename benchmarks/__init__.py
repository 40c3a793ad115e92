"""Measures Rota and its peers on the machine it runs on, with one yardstick for all. See README.md."""
