"""`POST /events` as a Flask blueprint and app, on the same store as everything else. Needs the extra `flask`.

    ROTA_STORE=sqlite:///rota.db ROTA_CONFIG=events.yaml flask --app rota.sdk.flask run

`create_app()` reads the same settings as the `rota` command, brings the definitions of the file into the store, and
serves the one endpoint. Once the store has keys, or the settings one, a request must show a key that may post events.
Jobs are run by `rota worker`.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rota.dialects import registry
from rota.engine.definitions.file import Wanted
from rota.engine.engine import Engine, open_engine
from rota.engine.events.request import read_event, read_events
from rota.errors import InvalidInput, MissingExtra, RotaError
from rota.host.log_format import set_up_logging
from rota.sdk.flask_keys import FlaskKeys, Refused
from rota.settings import Settings, load_settings
from rota.shapes.errors import status_of
from rota.shapes.events.events import MAX_EVENTS_BYTES, answer_shape, answers_shape
from rota.shapes.values import count_values
from rota.store import Store

try:
    from flask import Blueprint, Flask, Response, request
    from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
except ImportError:
    raise MissingExtra("rota.sdk.flask", "flask") from None

_JSON = "application/json"


def create_app(settings: Settings | None = None) -> Flask:
    """An app with the one endpoint. `flask --app rota.sdk.flask run` finds it by its name."""
    found = settings or load_settings({}, os.environ, None, Path.cwd(), registry.sections())
    set_up_logging(found.log_level)
    app = Flask("rota")
    app.config["MAX_CONTENT_LENGTH"] = MAX_EVENTS_BYTES
    engine = open_engine(found)
    _apply_file(engine, found)
    app.register_blueprint(_blueprint(engine, api_key=found.api_key, name="rota_events"))
    app.register_error_handler(HTTPException, _answer_http_error)
    return app


def event_blueprint(
    store: Store, *, event_types: Sequence[str] = (), api_key: str | None = None, name: str = "rota_events"
) -> Blueprint:
    """`POST /events`, to be registered in an app of your own."""
    return _blueprint(Engine.open(store, event_types=tuple(event_types)), api_key=api_key, name=name)


def _blueprint(engine: Engine, *, api_key: str | None, name: str) -> Blueprint:
    blueprint = Blueprint(name, __name__)
    keys = FlaskKeys(engine, api_key)

    @blueprint.post("/events")
    def post_events() -> Response:
        """Take an event, or a list of them."""
        keys.check(request)
        if request.mimetype != _JSON:
            return _answer({"status": "error", "error": f"Content-Type must be {_JSON}"}, 415)
        return _post(engine)

    blueprint.register_error_handler(RotaError, _answer_error)
    blueprint.register_error_handler(Refused, _answer_refusal)
    blueprint.register_error_handler(RequestEntityTooLarge, _answer_http_error)
    return blueprint


def _post(engine: Engine) -> Response:
    body, now = _body(), engine.clock.now()
    if not isinstance(body, list):
        return _answer(answer_shape(engine.events.post([read_event(body, now, engine.event_types)])), 200)
    good, failed = read_events(body, now, engine.event_types)
    answer = engine.events.post([event for _, event in good])
    return _answer(answers_shape(answer, [index for index, _ in good], failed), 400 if failed and not good else 200)


def _body() -> object:
    raw = request.stream.read(MAX_EVENTS_BYTES + 1)
    if len(raw) > MAX_EVENTS_BYTES:
        raise RequestEntityTooLarge(f"the body is larger than {MAX_EVENTS_BYTES} bytes")
    count_values(raw)
    try:
        found: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("body", f"is no valid JSON: {error}") from None
    return found


def _answer(document: object, status: int) -> Response:
    return Response(msgspec.json.encode(document), status, mimetype=_JSON)


def _answer_error(error: RotaError) -> Response:
    return _answer({"status": "error", "error": str(error)}, status_of(error))


def _answer_refusal(refusal: Refused) -> Response:
    answer = _answer({"status": "error", "error": str(refusal)}, refusal.status)
    answer.headers.update(refusal.headers)
    return answer


def _answer_http_error(error: HTTPException) -> Response:
    answer = _answer({"status": "error", "error": error.description}, error.code or 500)
    if allowed := getattr(error, "valid_methods", None):
        answer.headers["Allow"] = ", ".join(sorted(allowed))
    return answer


def _apply_file(engine: Engine, settings: Settings) -> None:
    """The definitions of the file, as `rota up` would bring them into the store."""
    wanted = Wanted.of(settings)
    if any((wanted.node_types, wanted.job_types, wanted.schedules, wanted.configurations)):
        engine.file.apply(wanted)
