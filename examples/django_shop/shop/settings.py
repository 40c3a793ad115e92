"""As little as Django needs, and the backends of its tasks."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).parents[1]
SECRET_KEY = "of an example"
DEBUG = True
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["shop", "rota.sdk.django"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("SHOP_DATABASE", BASE_DIR / "shop.db"),
    }
}
STORE = os.environ.get("ROTA_STORE", f"sqlite:///{BASE_DIR}/rota.db")
TASKS = {
    "default": {"BACKEND": "rota.sdk.django.RotaBackend", "OPTIONS": {"store": STORE, "retries": 3}},
    # Its tasks are part of the transactions of a database.
    "orders": {"BACKEND": "rota.sdk.django.RotaBackend", "OPTIONS": {"store": STORE, "outbox": "default"}},
}
