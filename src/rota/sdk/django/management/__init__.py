"""What `manage.py` can do with Rota."""
