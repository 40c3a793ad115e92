"""For programs that were written for another task queue: the names and call sites of each, over Rota's own apps.

common/      what they share: what is refused, and how names, ids and failures are carried
celery/ rq/ dramatiq/ arq/ apscheduler/   one folder each; its modules are named as the other's are
"""
