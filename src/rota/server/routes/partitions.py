"""What one instance of the light scheduler on Kafka asks another: definitions of a partition that the other one has."""

from rota.engine.keys.access import Scope
from rota.engine.light.scheduler import DefinitionPage, DefinitionQuery
from rota.errors import NotFound
from rota.model.limits import check_range
from rota.server.api import Api
from rota.server.operations import Call, Routes

_MOST = 1_000_000
_MOST_DIGITS = 7
routes = Routes("light scheduler")


@routes.get(
    "/api/schedulers/partitions/{partition}",
    needs=Scope.SCHEDULES_READ,
    query=DefinitionQuery,
    answer=DefinitionPage,
    errors=(400, 404),
)
def find_in_partition(api: Api, call: Call[None, DefinitionQuery]) -> DefinitionPage:
    """Task definitions in a partition of this instance.

    For other instances of the light scheduler on Kafka; `GET /schedulers` finds definitions wherever they are. 503 if
    the partition is not here, or is still being restored."""
    if api.engine.light is None:
        raise NotFound("partition", call.path["partition"], "this server has no Kafka")
    return api.engine.light.find_here(_number(call.path["partition"]), call.query)


def _number(text: str) -> int:
    is_number = text.isdecimal() and len(text) <= _MOST_DIGITS  # Python refuses to read thousands of digits
    return check_range("partition", int(text) if is_number else text, 0, _MOST)
