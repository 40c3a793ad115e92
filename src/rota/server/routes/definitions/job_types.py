"""Job types: what can be run."""

from msgspec import UNSET, Struct, UnsetType, structs

from rota.engine.access.keys.access import Scope
from rota.engine.access.keys.rights import may_define
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.model.ids import new_id
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.rate import Rate, parse_rate
from rota.server.answers import DoneTo
from rota.server.api import Api
from rota.server.bodies.decoding import check_path_uuid
from rota.server.operations import Call, Routes
from rota.server.routes.pages import cut
from rota.shapes import fields
from rota.shapes.definitions import JobTypeShape, UniqueWord, job_type_shape

routes = Routes("job types")


class NewJobType(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A job type without its uuid."""

    name: fields.Name
    executor: fields.Name
    metadata: dict[str, object] = {}
    unique: bool | UniqueWord = False
    node_type: fields.Name = DEFAULT_NODE_TYPE
    timeout: fields.Timeout | None = None
    retries: fields.Retries = fields.Retries()
    on_node_death: OnNodeDeath = OnNodeDeath.REQUEUE
    rate: str | None = None
    """How many of its jobs may start within a period: `10/m`, `100/90s`."""
    rate_key: str | None = None
    """What the rate is for, with arguments in braces: `{customer}`. Job types with the same key and rate share it."""

    def job_type(self, uuid: str) -> JobType:
        return JobType(
            uuid=uuid,
            name=self.name,
            executor=self.executor,
            metadata=self.metadata,
            unique=_unique(self.unique),
            node_type=self.node_type,
            timeout_ms=fields.timeout_ms(self.timeout),
            retry=self.retries.policy(),
            on_node_death=self.on_node_death,
            rate=_rate(self.rate),
            rate_key=self.rate_key or "",
        )


class WholeJobType(NewJobType, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A job type as it is shown, to be put back changed. Its uuid stays."""

    uuid: fields.Uuid | None = None
    managed_by: str | None = None
    """Ignored: who owns a job type is not for the client to say."""
    version: int | None = None
    """Only if it is still at this version."""


class JobTypeChange(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields to change; the others stay."""

    name: fields.Name | UnsetType = UNSET
    executor: fields.Name | UnsetType = UNSET
    metadata: dict[str, object] | UnsetType = UNSET
    unique: bool | UniqueWord | UnsetType = UNSET
    node_type: fields.Name | UnsetType = UNSET
    timeout: fields.Timeout | UnsetType | None = UNSET
    retries: fields.RetriesChange | UnsetType = UNSET
    on_node_death: OnNodeDeath | UnsetType = UNSET
    rate: str | UnsetType | None = UNSET
    rate_key: str | UnsetType | None = UNSET
    version: int | UnsetType = UNSET
    """Only if it is still at this version."""


class JobTypeQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    cursor: fields.Cursor | None = None


class JobTypeList(Struct, frozen=True):
    """Job types, by name. There is a cursor only if they are too long for one answer."""

    job_types: list[JobTypeShape]
    cursor: str | UnsetType = UNSET


@routes.get("/api/job_types", needs=Scope.TYPES_READ, query=JobTypeQuery, answer=JobTypeList)
def list_job_types(api: Api, call: Call[None, JobTypeQuery]) -> JobTypeList:
    """All job types.

    Keys without the scope `types:w` see `***` in the place of what may be a secret.
    """
    masked, behind = not may_define(call.caller), call.query.cursor or ""
    # A name is one or more characters, so all are behind none.
    rest = sorted((one for one in api.engine.definitions.job_types() if one.name > behind), key=lambda one: one.name)
    shown = cut(job_type_shape(one, masked=masked) for one in rest)
    return JobTypeList(shown, UNSET if len(shown) == len(rest) else rest[len(shown) - 1].name)


@routes.post("/api/job_types", needs=Scope.TYPES_WRITE, body=NewJobType, answer=DoneTo, errors=(409,))
def create_job_type(api: Api, call: Call[NewJobType, None]) -> DoneTo:
    """Create a job type. Its name must be new."""
    made = api.engine.definitions.create_job_type(call.body.job_type(new_id(api.engine.clock.now())))
    return DoneTo(uuid=made.uuid)


@routes.get("/api/job_types/{job_type}", needs=Scope.TYPES_READ, answer=JobTypeShape, errors=(404,))
def show_job_type(api: Api, call: Call[None, None]) -> JobTypeShape:
    """One job type.

    Keys without the scope `types:w` see `***` in the place of what may be a secret.
    """
    found = api.engine.definitions.current_job_type(call.path["job_type"])
    return job_type_shape(found, masked=not may_define(call.caller))


@routes.put(
    "/api/job_types/{job_type}", needs=Scope.TYPES_WRITE, body=WholeJobType, answer=JobTypeShape, errors=(404, 409)
)
def replace_job_type(api: Api, call: Call[WholeJobType, None]) -> JobTypeShape:
    """Change a job type to what is given here. Jobs that run already go on as they began.

    With a `version`, as it was shown, a change that somebody else made meanwhile is not lost: this one is refused.
    """
    uuid = api.engine.definitions.current_job_type(call.path["job_type"]).uuid
    if call.body.uuid is not None:
        check_path_uuid(call.body.uuid, uuid)
    return _changed(api, call.body.job_type(uuid), call.body.version)


@routes.patch(
    "/api/job_types/{job_type}", needs=Scope.TYPES_WRITE, body=JobTypeChange, answer=JobTypeShape, errors=(404, 409)
)
def change_job_type(api: Api, call: Call[JobTypeChange, None]) -> JobTypeShape:
    """Change some fields of a job type, if it is still at the `version` that is given; the others stay."""
    found = api.engine.definitions.current_job_type(call.path["job_type"])
    given = {key: value for key, value in structs.asdict(call.body).items() if value is not UNSET}
    expected = given.pop("version", found.version)
    names = {"timeout": "timeout_ms", "retries": "retry"}
    changes = {names.get(key, key): value for key, value in given.items()}
    if call.body.timeout is not UNSET:
        changes["timeout_ms"] = fields.timeout_ms(call.body.timeout)
    if not isinstance(call.body.rate, UnsetType):
        changes["rate"] = _rate(call.body.rate)
    if "rate_key" in changes:
        changes["rate_key"] = changes["rate_key"] or ""
    if "unique" in changes:
        changes["unique"] = _unique(changes["unique"])
    if isinstance(call.body.retries, fields.RetriesChange):
        changes["retry"] = call.body.retries.changed(found.retry)
    return _changed(api, structs.replace(found, **changes), expected)


@routes.delete("/api/job_types/{job_type}", needs=Scope.TYPES_WRITE, answer=DoneTo, errors=(404, 409))
def delete_job_type(api: Api, call: Call[None, None]) -> DoneTo:
    """Remove a job type. Jobs of it that still wait will fail when they are run."""
    found = api.engine.definitions.current_job_type(call.path["job_type"])
    api.engine.definitions.delete_job_type(found.uuid)
    return DoneTo(uuid=found.uuid)


def _changed(api: Api, job_type: JobType, expected: int | None) -> JobTypeShape:
    return job_type_shape(api.engine.definitions.change_job_type(job_type, expected=expected))


def _rate(given: str | None) -> Rate | None:
    return None if given is None else parse_rate("rate", given)


def _unique(given: bool | str) -> Unique:
    if isinstance(given, bool):
        return Unique.WHILE_RUNNING if given else Unique.NONE
    return Unique(given)
