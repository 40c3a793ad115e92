"""As little as Django needs, and the backend of its tasks."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).parents[1]
SECRET_KEY = "of an example"
DEBUG = True
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["rota.sdk.django"]
TASKS = {
    "default": {
        "BACKEND": "rota.sdk.django.RotaBackend",
        "OPTIONS": {"store": os.environ.get("ROTA_STORE", f"sqlite:///{BASE_DIR}/rota.db"), "retries": 3},
    }
}
