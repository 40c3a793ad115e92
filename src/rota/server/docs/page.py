"""The OpenAPI document as one page: plain HTML, nothing from elsewhere, no script."""

import html
from collections.abc import Iterable
from typing import Any

import msgspec

Document = dict[str, Any]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
h2 { border-bottom: 1px solid #d0d7de; margin-top: 2.5rem; text-transform: capitalize }
details { border: 1px solid #d0d7de; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem }
summary { cursor: pointer } code, pre { font: 14px/1.5 ui-monospace, monospace }
pre { background: #f6f8fa; padding: .6rem; overflow: auto } table { border-collapse: collapse }
td, th { text-align: left; padding: .15rem 1rem .15rem 0; vertical-align: top } .method { font-weight: 700 }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 } pre { background: #161b22 } }
"""


def page(document: Document) -> str:
    """The whole page."""
    info = document["info"]
    parts = [f"<h1>{_text(info['title'])} {_text(info['version'])}</h1>", f"<p>{_text(info['description'])}</p>"]
    parts.append('<p>The same as a document: <a href="/openapi.json">openapi.json</a></p>')
    for tag in document["tags"]:
        parts.append(f"<h2>{_text(tag['name'])}</h2>")
        parts += _operations(document, tag["name"])
    parts.append("<h2>schemas</h2>")
    parts += [_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    return _whole("Rota API", "".join(parts))


def _whole(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def _operations(document: Document, tag: str) -> Iterable[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield _operation(method.upper(), path, operation)


def _operation(method: str, path: str, operation: Document) -> str:
    title = f'<span class="method">{method}</span> <code>{_text(path)}</code> {_text(operation["summary"])}'
    parts = [f"<p>{_text(operation['description'])}</p>"]
    if operation["parameters"]:
        rows = (
            f"<tr><td><code>{_text(one['name'])}</code></td><td>{one['in']}</td>"
            f"<td>{_text(one.get('description', ''))}</td><td><code>{_json(one['schema'])}</code></td></tr>"
            for one in operation["parameters"]
        )
        parts.append(f"<table><tr><th>parameter</th><th>in</th><th></th><th></th></tr>{''.join(rows)}</table>")
    if body := operation.get("requestBody"):
        (content,) = body["content"].values()
        parts.append(f"<p>Body: {_link(content['schema'])}</p>")
    ((media, content),) = operation["responses"]["200"]["content"].items()
    parts.append(f"<p>Answer: {_link(content['schema'])} <code>{_text(media)}</code>; ")
    parts.append(f"else {', '.join(status for status in operation['responses'] if status != '200')}</p>")
    return f"<details><summary>{title}</summary>{''.join(parts)}</details>"


def _schema(name: str, schema: Document) -> str:
    return (
        f'<details id="{_text(name)}"><summary><code>{_text(name)}</code> {_text(schema.get("description", ""))}'
        f"</summary><pre>{_json(schema, indent=2)}</pre></details>"
    )


def _link(schema: Document) -> str:
    name = schema.get("$ref", "").rpartition("/")[2]
    return f'<a href="#{_text(name)}"><code>{_text(name)}</code></a>' if name else f"<code>{_json(schema)}</code>"


def _json(value: object, indent: int = 0) -> str:
    encoded = msgspec.json.encode(value)
    return _text((msgspec.json.format(encoded, indent=indent) if indent else encoded).decode())


def _text(value: object) -> str:
    return html.escape(str(value))
