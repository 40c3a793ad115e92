"""A pool of threads."""

from rota.errors import InvalidInput


class ThreadPoolExecutor:
    """So many jobs at a time."""

    def __init__(self, max_workers: int = 10) -> None:
        self.max_workers = max_workers


class ProcessPoolExecutor:
    """Not carried."""

    def __init__(self, max_workers: int = 10) -> None:
        raise InvalidInput(
            "ProcessPoolExecutor", "is not carried by Rota; `rota worker main:scheduler --processes N` uses N cores"
        )
