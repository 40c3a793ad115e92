"""The settings of a Django project. They are those of the whole process, so they are made once."""

import django
from django.conf import settings


def set_up_django() -> None:
    if settings.configured:
        return
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}
    settings.configure(USE_TZ=True, DATABASES={"default": database}, INSTALLED_APPS=["rota.sdk.django"])
    django.setup()
