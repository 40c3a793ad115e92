"""Whether a configuration can ever be met. One that cannot is refused when it is defined, with the reason.

A dependency without a life is met only by the event in hand, so one event would have to serve all such dependencies
that are needed together.
"""

from rota.model.events.configuration import Dependency, Group, Late, Match, literal_start, resource_matches

_MOST_WAYS = 256
"""Ways to meet a rule that are looked at; a rule with more is taken for possible."""


def why_impossible(dependencies: tuple[Dependency, ...], tree: Group, late: Late) -> str | None:
    """The reason why the rule can never hold, or nothing."""
    if late is Late.JOIN:
        return None
    ways = _ways(dependencies, tree)
    if ways is None or any(_clash(dependencies, way) is None for way in ways):
        return None
    first, second = _clash(dependencies, ways[0]) or (0, 0)
    return (
        f"can never be met: {_named(dependencies[first])} and {_named(dependencies[second])} both have a lifeDuration "
        "of 0, so each is met only by the event in hand, and no event is both; give one of them a life, or late: join"
    )


def _ways(dependencies: tuple[Dependency, ...], group: Group) -> list[frozenset[int]] | None:
    """The sets of dependencies without a life that must be met together, one per way to meet the group."""
    ways: list[frozenset[int]] = [] if group.any_of else [frozenset()]
    for part in group.parts:
        if isinstance(part, int):
            inner: list[frozenset[int]] | None = [frozenset({part} if dependencies[part].life_s == 0 else ())]
        else:
            inner = _ways(dependencies, part)
        if inner is None:
            return None
        ways = [*ways, *inner] if group.any_of else [one | other for one in ways for other in inner]
        ways = list(dict.fromkeys(ways))
        if len(ways) > _MOST_WAYS:
            return None
    return ways


def _clash(dependencies: tuple[Dependency, ...], way: frozenset[int]) -> tuple[int, int] | None:
    """Two dependencies that no single event can serve."""
    needed = sorted(way)
    for place, first in enumerate(needed):
        for second in needed[place + 1 :]:
            if not _may_coincide(dependencies[first], dependencies[second]):
                return first, second
    return None


def _may_coincide(one: Dependency, other: Dependency) -> bool:
    if one.type != other.type:
        return False
    if one.outcome is not None and other.outcome is not None and one.outcome != other.outcome:
        return False
    if one.match is Match.EXACT:
        return resource_matches(other.match, other.resource, one.resource)
    if other.match is Match.EXACT:
        return resource_matches(one.match, one.resource, other.resource)
    starts = literal_start(one.match, one.resource), literal_start(other.match, other.resource)
    return starts[0].startswith(starts[1]) or starts[1].startswith(starts[0])


def _named(dependency: Dependency) -> str:
    return f"{dependency.type} {dependency.resource}"
