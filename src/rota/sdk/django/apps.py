"""The entry in `INSTALLED_APPS`, which brings the commands; `django.tasks` itself needs none."""

from django.apps import AppConfig


class RotaConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    name = "rota.sdk.django"
    label = "rota"
    verbose_name = "Rota"
