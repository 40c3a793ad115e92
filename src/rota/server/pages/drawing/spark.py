"""A small line of figures."""

from collections.abc import Sequence

_WIDTH, _HEIGHT = 120, 26


def spark_points(values: Sequence[int], most: int) -> str:
    """The points of an SVG polyline, 120 by 26, from left to right; `most` is at its top."""
    most, step = max(most, 1), _WIDTH / max(len(values) - 1, 1)
    return " ".join(
        f"{n * step:.1f},{_HEIGHT - 2 - value / most * (_HEIGHT - 4):.1f}" for n, value in enumerate(values)
    )
