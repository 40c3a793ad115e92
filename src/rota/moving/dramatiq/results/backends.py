"""Where Dramatiq keeps results; Rota needs none of it."""


class RedisBackend:
    """Without effect."""

    def __init__(self, **options: object) -> None:
        """Nothing of it is needed."""
