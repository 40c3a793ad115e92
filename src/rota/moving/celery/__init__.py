"""Celery's names: `from rota.moving.celery import Celery, shared_task` instead of `from celery import ...`."""

from rota.moving.celery.app import Celery, shared_task
from rota.moving.celery.canvas import Signature, chain, chord, group, signature
from rota.moving.celery.task import Task

__all__ = ["Celery", "Signature", "Task", "chain", "chord", "group", "shared_task", "signature"]
