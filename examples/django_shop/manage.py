"""A Django project that has its slow work done by Rota. The jobs are in rota.db, and a worker runs them.

python manage.py migrate
python manage.py runserver
python manage.py rota_worker
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
    execute_from_command_line(sys.argv)
