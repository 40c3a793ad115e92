"""Tasks: functions of a Python program that Rota runs. The app, its tasks, handles of their jobs, and their worker."""
