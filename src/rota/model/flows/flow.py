"""Flows: jobs that follow each other, stage by stage, and hand their results on.

A stage is one job, or several that run beside each other. The next stage begins when all jobs of a stage have ended.
The ids of all jobs of a flow are settled when it is made, so that whoever makes the next stage makes the same jobs.
"""

from msgspec import Struct

from rota.model.ids import numbered_id

MOST_CALLS = 1_000
"""Jobs of one flow."""


class FlowCall(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A job of a later stage, before it is made."""

    job_type: str
    """Its name."""
    arguments: dict[str, object] = {}
    into: str | None = None
    """The argument that gets the result of the stage before."""
    priority: int = 0


class Stage(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Jobs that run beside each other."""

    calls: tuple[FlowCall, ...]
    is_group: bool = False
    """Whether its result is a list, one item per job."""
    although_failed: bool = False
    """Whether it begins also if jobs before it failed or were cancelled; their results are None then."""


class Flow(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a job knows of the flow that it is part of: the jobs of its own stage, and the stages after it."""

    id: str
    made_at: int
    first: int = 0
    """The number, within the flow, of the first job of this stage."""
    count: int = 1
    is_group: bool = False
    rest: tuple[Stage, ...] = ()

    def job_ids(self) -> list[str]:
        """Of the jobs of this stage."""
        return [self.job_id(number) for number in range(self.first, self.first + self.count)]

    def job_id(self, number: int) -> str:
        return numbered_id(self.made_at, self.id, number)

    def next_stage(self) -> "Flow":
        """What the jobs of the next stage know."""
        stage = self.rest[0]
        return Flow(
            id=self.id,
            made_at=self.made_at,
            first=self.first + self.count,
            count=len(stage.calls),
            is_group=stage.is_group,
            rest=self.rest[1:],
        )
