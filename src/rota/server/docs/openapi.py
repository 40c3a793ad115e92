"""The OpenAPI 3.1 document, made from the declarations of the operations."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from rota import __version__
from rota.engine.access.keys.access import OPEN
from rota.model.limits import MAX_NAME_LENGTH
from rota.server.bodies.decoding import REFERENCES
from rota.server.operations import JSON, Operation
from rota.shapes.errors import ErrorShape

Document = dict[str, Any]

_PARAMETER = re.compile(r"\{(\w+)\}")
_UUID = {"type": "string", "format": "uuid"}
_REFERENCE = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH, "description": "A uuid or a name."}
_TOPIC = {"type": "string", "minLength": 1, "maxLength": 249, "pattern": "^[A-Za-z0-9._-]*$"}
_PARAMETERS = dict.fromkeys(REFERENCES, _REFERENCE) | {
    "topic": _TOPIC,
    "key": _REFERENCE,
    "task_id": {"type": "string", "minLength": 1},
}
"""Those that are no uuids."""
_REF = "#/components/schemas/{name}"
_WHY = {
    400: "Something in the request is not right; `error` names the field and says why.",
    401: "No valid key.",
    403: "The key may not do this.",
    404: "There is no such thing.",
    409: "The thing is there, but not in a state that allows this.",
    413: "The body is too large.",
    415: "The Content-Type is not application/json.",
    429: "Too many requests; Retry-After says when to try again.",
    503: "The store cannot be reached.",
    507: "The store is full.",
}
_DESCRIPTION = """The native API of Rota. Times are epoch milliseconds, ids are UUIDs. Nearly every request shows a key:
`Authorization: Bearer KEY`. 200 means success; any other status comes with `{"status": "error", "error": "..."}`."""


@lru_cache(maxsize=4)
def document(operations: tuple[Operation, ...]) -> Document:
    """The whole document."""
    operations = tuple(one for one in operations if not one.is_alias)
    schemas, components = _schemas(operations)
    paths: Document = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rota", "version": __version__, "description": _DESCRIPTION.replace("\n", " ")},
        "security": [{"key": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(one.tag for one in operations)],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {f"Error{status}": _error(status, why) for status, why in _WHY.items()},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(operations: Iterable[Operation]) -> tuple[dict[Any, Document], Document]:
    kinds = [kind for one in operations for kind in (_body_of(one), one.query, one.answer) if kind is not None]
    errors = [one.manner.error_shape for one in operations if one.manner is not None]
    kinds = list(dict.fromkeys([*kinds, *errors, ErrorShape]))
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF, schema_hook=_anything)
    return dict(zip(kinds, schemas, strict=True)), dict(components)


def _anything(kind: type) -> Document:
    """`object` is any JSON value. That it knows no other kind is how msgspec wants to hear it."""
    if kind is not object:
        raise NotImplementedError
    return {"description": "Any JSON value."}


def _operation(one: Operation, schemas: dict[Any, Document], components: Document) -> Document:
    found: Document = {
        "tags": [one.tag],
        "operationId": one.name,
        "summary": one.summary,
        "parameters": [*_path_parameters(one), *_query_parameters(one, schemas, components)],
        "responses": _responses(one, schemas),
    }
    notes = [one.description, f"Needs the scope `{one.needs}`." if one.needs is not OPEN else "Needs no key."]
    found["description"] = " ".join(note for note in notes if note)
    if one.needs is OPEN:
        found["security"] = []
    if (body := _body_of(one)) is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": schemas[body]}}}
    return found


def _body_of(one: Operation) -> Any:
    return one.documented_body or one.body


def _path_parameters(one: Operation) -> list[Document]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PARAMETERS.get(name, _UUID)}
        for name in _PARAMETER.findall(one.path)
    ]


def _query_parameters(one: Operation, schemas: dict[Any, Document], components: Document) -> list[Document]:
    if one.query is None:
        return []
    name = schemas[one.query]["$ref"].rpartition("/")[2]
    properties, needed = components[name]["properties"], components[name].get("required", [])
    return [_query_parameter(key, schema, is_needed=key in needed) for key, schema in properties.items()]


def _query_parameter(name: str, schema: Document, *, is_needed: bool) -> Document:
    """A parameter that is not given is absent; it is never null."""
    bare = {key: value for key, value in schema.items() if key != "default" or value is not None}
    if "anyOf" in bare:
        (bare,) = [one for one in bare["anyOf"] if one != {"type": "null"}]
    found: Document = {"name": name, "in": "query", "required": is_needed, "schema": bare}
    if description := bare.get("description"):
        found["description"] = description
    return found


def _responses(one: Operation, schemas: dict[Any, Document]) -> Document:
    schema = schemas[one.answer] if one.answer is not None else {}
    if one.media != JSON:
        schema = {"type": "string"}
    responses: Document = {"200": {"description": "It was done.", "content": {one.media: {"schema": schema}}}}
    if one.may_make:
        responses["201"] = {"description": "It was made.", "content": {one.media: {"schema": schema}}}
    for status in sorted(_statuses(one)):
        if status == 503 and one.needs is OPEN:
            responses["503"] = {"description": "It is not well.", "content": {one.media: {"schema": schema}}}
        elif one.manner is not None:
            responses[str(status)] = _error(status, _WHY[status], one.manner.error_shape)
        else:
            responses[str(status)] = {"$ref": f"#/components/responses/Error{status}"}
    return responses


def _statuses(one: Operation) -> set[int]:
    """What an operation may answer instead, by what it takes and needs."""
    found = set(one.errors)
    if one.query is not None or one.body is not None or "{" in one.path:
        found.add(400)
    if one.needs is not OPEN:
        found |= {401, 403, 429, 503}
    if one.takes_json:
        found |= {413, 415, 507}
    return found


def _error(status: int, why: str, shape: Any = ErrorShape) -> Document:
    return {"description": why, "content": {JSON: {"schema": {"$ref": _REF.format(name=shape.__name__)}}}}
