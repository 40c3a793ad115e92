"""What the demo's Python jobs run."""


def hello(name: str = "world") -> str:
    """Greet somebody."""
    return f"hello {name}"
