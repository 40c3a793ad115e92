"""arq's names: `from rota.moving.arq import create_pool, cron` instead of `from arq import ...`."""

from rota.moving.arq.connections import ArqRedis, create_pool
from rota.moving.arq.cron import cron
from rota.moving.arq.worker import Function, Retry, func, run_worker

__all__ = ["ArqRedis", "Function", "Retry", "create_pool", "cron", "func", "run_worker"]
