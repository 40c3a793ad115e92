"""The shape of a field, which decides the words for it: every n, a range, steps, or a list of values."""

from itertools import pairwise

from msgspec import Struct

from rota.model.triggers.cron.fields import Field


class Every(Struct, frozen=True):
    """The whole field in equal steps, so that the rhythm goes on from one round to the next; step 1 is all of it."""

    step: int


class Run(Struct, frozen=True):
    """From one value to another, over the end of the field if need be; with a step, only each nth."""

    first: int
    last: int
    step: int = 1


class Values(Struct, frozen=True):
    """Single values."""

    values: tuple[int, ...]


Shape = Every | Run | Values


def shape_of(field: Field, size: int) -> Shape:
    """The simplest true shape of the plain values of a field that has `size` of them."""
    if field.is_full:
        return Every(1)
    span = field.spans[0] if len(field.parts) == 1 and field.spans else None
    if span is None or len(span.values) < 2:
        return Values(field.values)
    first, last = span.values[0], span.values[-1]
    if span.step > 1:
        goes_on = size == span.step * len(span.values) and span.is_star
        return Every(span.step) if goes_on else Run(first, last, span.step)
    return Run(first, last)


_FEWEST_EVEN = 4
"""Fewer values are told one by one."""


def told_shape(field: Field, size: int) -> Shape:
    """The shape by which a field is told: a long list in equal steps as a run, and two values as two, however they are
    written."""
    shape = shape_of(field, size)
    if isinstance(shape, Run) and shape.first == 0 and size == shape.step * len(field.values):
        return Every(shape.step)
    if isinstance(shape, Run) and shape.step > 1 and len(field.values) <= 2:
        return Values(field.values)
    if not isinstance(shape, Values) or len(shape.values) < _FEWEST_EVEN:
        return shape
    first, second, *_, last = shape.values
    step = second - first
    if any(later - earlier != step for earlier, later in pairwise(shape.values)):
        return shape
    goes_on = first == 0 and size == step * len(shape.values)
    return Every(step) if goes_on else Run(first, last, step)
