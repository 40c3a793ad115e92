"""How one process is set up: one frozen `Settings`, read here and nowhere else.

`load.py` puts it together from flags, the environment and a file; `settings.py` is the value. The environment and
configuration files are read only in this package.
"""

from rota.settings.load import find_config_file, load_settings
from rota.settings.settings import ROLES, Settings

__all__ = ["ROLES", "Settings", "find_config_file", "load_settings"]
