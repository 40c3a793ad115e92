"""Puts the settings together: a flag beats the environment, which beats the file, which beats the default."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rota.errors import InvalidInput
from rota.settings import values
from rota.settings.environment import Found, read_environment
from rota.settings.fields import FIELDS, SECTIONS, TOP_KEYS
from rota.settings.settings import Settings
from rota.settings.values import MAX_OWNER

if TYPE_CHECKING:
    from rota.settings.document import Document
    from rota.settings.section import Section

_YAML_NAME = "rota.yaml"
_TOML_NAME = "pyproject.toml"


def load_settings(
    cli: Mapping[str, object],
    environ: Mapping[str, str],
    config_path: Path | None,
    cwd: Path,
    sections: "Sequence[Section]" = (),
) -> Settings:
    """Read everything once. `sections` are those of dialects.

    `cli` has flags by field name; None means that the flag was not given. `config_path`, else ROTA_CONFIG, names the
    file; without either it is `rota.yaml` or the table `[tool.rota]` of `pyproject.toml` in `cwd`, if there is one.
    """
    path = find_config_file(environ, config_path, cwd)
    if path is None:
        return _merged(cli, environ, [], {})
    # Reading a file needs PyYAML, which costs more than all the rest here.
    from rota.settings.content import DEFINITIONS, definition_keys, read_content
    from rota.settings.document import read_document

    document = read_document(path, _shown_name(path, cwd))
    from_file = list(_file_values(document, definition_keys(sections)))
    sources = {key: document.place(document.content, key) for key in DEFINITIONS if document.content.get(key)}
    settings = _merged(cli, environ, from_file, sources)
    if not settings.owner:
        settings = msgspec.structs.replace(settings, owner=_project_of(path))
    content = read_content(document, settings.event_types, sections)
    return msgspec.structs.replace(settings, config_file=document.name, **msgspec.structs.asdict(content))


def _merged(
    cli: Mapping[str, object], environ: Mapping[str, str], from_file: list[Found], sources: dict[str, str]
) -> Settings:
    file_store = next((value for field, value, _ in from_file if field == "store"), None)
    from_environment = read_environment(environ, file_store=file_store)
    found: dict[str, object] = {}
    for field, value, source in chain(from_file, from_environment, _flag_values(cli)):
        found[field] = value
        sources[field] = source
    return msgspec.structs.replace(Settings(sources=sources), **found)


def _flag_values(cli: Mapping[str, object]) -> Iterator[Found]:
    for field, value in cli.items():
        if value is not None:
            flag = f"--{field.replace('_', '-')}"
            yield field, FIELDS[field].check(flag, value), flag


def find_config_file(environ: Mapping[str, str], config_path: Path | None, cwd: Path) -> Path | None:
    """The file that is read, if there is one.

    Two files would leave the question which of them is meant, so they are an error."""
    named = config_path or environ.get("ROTA_CONFIG", "").strip()
    if named:
        return _named_file(cwd / named, "--config" if config_path else "ROTA_CONFIG")
    yaml_file, toml_file = cwd / _YAML_NAME, cwd / _TOML_NAME
    has_table = toml_file.is_file() and b"rota" in _bytes_of(toml_file) and _has_table(toml_file)
    if has_table and yaml_file.exists():
        raise InvalidInput(
            _YAML_NAME, f"and [tool.rota] in {_TOML_NAME} both exist; keep one, or name one with --config"
        )
    if has_table:
        return toml_file
    return yaml_file if yaml_file.exists() else None


def _named_file(path: Path, where: str) -> Path:
    if not path.is_file():
        raise InvalidInput(where, f"there is no file {path}")
    if path.suffix not in (".yaml", ".yml", ".toml"):
        raise InvalidInput(where, f"{path.name} must be a .yaml, .yml or .toml file")
    return path


def _bytes_of(toml_file: Path) -> bytes:
    try:
        return toml_file.read_bytes()
    except OSError as error:
        raise InvalidInput(toml_file.name, f"cannot be read: {error.strerror}") from None


def _has_table(toml_file: Path) -> bool:
    tool = _toml_of(toml_file).get("tool")
    return isinstance(tool, dict) and "rota" in tool


def _toml_of(toml_file: Path) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(_bytes_of(toml_file).decode())
    except ValueError:
        # Not ours to judge: whoever reads this file for its own sake will say what is wrong with it.
        return {}


def _project_of(path: Path) -> str:
    """The name of the project that a file belongs to."""
    project = _toml_of(path).get("project") if path.name == _TOML_NAME else None
    name = project.get("name") if isinstance(project, dict) else None
    return name if isinstance(name, str) and name else path.resolve().parent.name[:MAX_OWNER] or "root"


def _shown_name(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _file_values(document: "Document", definitions: list[str]) -> Iterator[Found]:
    top = document.content
    document.refuse_unknown(top, [*TOP_KEYS, *SECTIONS, *definitions])
    yield from _section_values(document, top, TOP_KEYS, "")
    for name, keys in SECTIONS.items():
        if top.get(name) is not None:
            section = values.mapping(document.where(top, name, name), top[name])
            document.refuse_unknown(section, list(keys), f"{name}.")
            yield from _section_values(document, section, keys, f"{name}.")


def _section_values(
    document: "Document", section: dict[str, object], field_of_key: Mapping[str, str], prefix: str
) -> Iterator[Found]:
    """The settings in one mapping. A key without a value counts as absent."""
    for key, field in field_of_key.items():
        if section.get(key) is not None:
            where = document.where(section, key, f"{prefix}{key}")
            yield field, FIELDS[field].check(where, section[key]), document.place(section, key)
