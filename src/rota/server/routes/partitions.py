"""What one instance of the light scheduler on Kafka asks another: definitions of a partition that the other one has."""

from hmac import compare_digest

from starlette.datastructures import Headers
from starlette.types import Scope as AsgiScope

from rota.engine.access.keys.access import Caller, Scope
from rota.engine.access.keys.admin_key import is_strong
from rota.engine.access.keys.dev_key import is_dev_key
from rota.engine.topics.light.scheduler import DefinitionPage, DefinitionQuery
from rota.errors import NotFound
from rota.model.limits import check_range
from rota.server.answers import error_answer
from rota.server.api import Api
from rota.server.auth.bearer import bearer_key
from rota.server.endpoint import count_guess, identify
from rota.server.operations import Call, Manner, Routes
from rota.shapes.errors import ErrorShape

_MOST = 1_000_000
_MOST_DIGITS = 7
_PEER = Caller("light scheduler", frozenset({Scope.SCHEDULES_READ}))


async def identify_peer(api: Api, scope: AsgiScope, headers: Headers) -> Caller:
    """Another instance by the key that is for this path alone; anybody else as everywhere. That key is made of the
    admin key, so where that could be guessed, it counts like a guess."""
    shown, wanted = bearer_key(headers), api.engine.light.peer_key if api.engine.light else ""
    if shown and wanted and not is_dev_key(wanted) and compare_digest(shown.encode(), wanted.encode()):
        count_guess(api, scope, is_right=True, is_strong=is_strong(api.settings.api_key or ""))
        return _PEER
    return await identify(api, scope, headers)


routes = Routes("light scheduler", manner=Manner(identify_peer, error_answer, ErrorShape))


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
