"""Django: a backend of `django.tasks` (Django 6 and newer), whose tasks Rota's workers run, and an app with commands.

TASKS = {"default": {"BACKEND": "rota.sdk.django.RotaBackend", "OPTIONS": {"store": "redis://localhost"}}}
"""

from typing import TYPE_CHECKING

from rota.lazy_names import lazy_names

if TYPE_CHECKING:
    from rota.sdk.django.backend import RotaBackend

__all__ = ["RotaBackend"]

if not TYPE_CHECKING:  # Django imports this package before its own settings are read
    __getattr__ = lazy_names(__name__, {"RotaBackend": "rota.sdk.django.backend"})
