"""The shape of a field, which decides the words for it: every n, a range, steps, or a list of values."""

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
