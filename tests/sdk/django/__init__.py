"""The backend of `django.tasks`."""
