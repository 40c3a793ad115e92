"""APScheduler's names, as its version 3 has them: `from rota.moving.apscheduler.schedulers.background import
BackgroundScheduler`."""
