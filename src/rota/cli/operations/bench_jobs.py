"""What the jobs of `rota bench` run."""


async def nothing() -> None:
    """Do nothing, on the node's loop: what remains is the cost of Rota itself."""
