"""The fixtures of the plugin, also where pytest loads no plugins by itself."""

from rota.testing.plugin import rota_clock, rota_faults, rota_installation

__all__ = ["rota_clock", "rota_faults", "rota_installation"]
