"""Tests of `rota.shapes`."""
