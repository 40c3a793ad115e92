"""Configurations that wait for the end of jobs make a graph of job types. A cycle in it would make jobs for ever.

Configurations wait for names, and make jobs of the type with a uuid: `names` tells which names each uuid has, or is
being given.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping

from rota.model.events.configuration import Configuration
from rota.model.events.event import JOB
from rota.store.contract.events import JobRules

Names = Mapping[str, Collection[str]]


def names_with(rules: JobRules, known: Mapping[str, str]) -> dict[str, set[str]]:
    """The names that are known by uuid, and those that are being given."""
    names = {uuid: {name} for uuid, name in known.items()}
    for uuid, name in rules.names:
        names.setdefault(uuid, set()).add(name)
    return names


def find_cycle(others: Iterable[Configuration], names: Names, *, makes: Collection[str], awaits: set[str]) -> list[str]:
    """The job types that would make each other if one more configuration made one of the names `makes` at the end of
    any of `awaits`; none if all is well."""
    graph = _graph(others, names)
    ways = (_way(graph, made, awaits) for made in sorted(makes))
    return next(([*way, way[0]] for way in ways if way), [])


def find_cycle_through(name: str, configurations: Iterable[Configuration], names: Names) -> list[str]:
    """The job types that make each other, from one of this name back to it; none if all is well."""
    graph = _graph(configurations, names)
    ways = (_way(graph, made, {name}) for made in sorted(graph.get(name, ())))
    return next(([name, *way] for way in ways if way), [])


def refusal_of(cycle: list[str]) -> str:
    """Why such a cycle is not to be."""
    return f"would go round for ever: the end of a job makes the next one, {' -> '.join(cycle)}"


def _graph(configurations: Iterable[Configuration], names: Names) -> dict[str, set[str]]:
    """Name of a job type to the names of those whose jobs its end may make."""
    graph: dict[str, set[str]] = {}
    for one in configurations:
        made = names.get(one.job_type, ())
        for dependency in one.dependencies:
            if dependency.type == JOB:
                graph.setdefault(dependency.resource, set()).update(made)
    return graph


def _way(graph: dict[str, set[str]], start: str, ends: set[str]) -> list[str]:
    """The shortest way from one job type to one of some."""
    came_from: dict[str, str | None] = {start: None}
    frontier = deque([start])
    while frontier:
        here = frontier.popleft()
        if here in ends:
            return _traced(came_from, here)
        for after in sorted(graph.get(here, set()) - came_from.keys()):
            came_from[after] = here
            frontier.append(after)
    return []


def _traced(came_from: dict[str, str | None], end: str) -> list[str]:
    way: list[str] = []
    here: str | None = end
    while here is not None:
        way.insert(0, here)
        here = came_from[here]
    return way
