"""What is not shown to everybody: passwords in URLs, and values of a job type that may be secrets.

A reference (`env:NAME`, `file:/PATH`) says where a node finds a secret and is none itself, so it is shown.
"""

import re

MASK = "***"
_QUERY_PASSWORD = re.compile(r"([?&;][^=&;]*(?:password|secret|token|passwd)=)[^&;#]*", re.IGNORECASE)
_URL_IN_TEXT = re.compile(r"\w[\w+.-]*://\S+@\S*|\w[\w+.-]*://\S+[?&]\S+")
_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:/(?!/).*", re.DOTALL)
_SECRET_NAME = re.compile(r"pass(word|wd|phrase)?$|secret|token|credential|api_?key|private_?key|^auth", re.IGNORECASE)
_ALL_VALUES = frozenset({"environment", "headers"})
"""Parts of a job type's metadata in which every value may be a secret."""


def is_reference(value: object) -> bool:
    """Whether a value says where a secret is."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def mask_url(url: str) -> str:
    """A URL without its passwords, whatever its shape: one with `/`, `@` or `:` in the password is masked too."""
    scheme, mark, rest = url.rpartition("://") if url.count("://") == 1 else url.partition("://")
    if not mark:
        scheme, rest = "", url
    if scheme.partition("+")[0] == "sqlite":
        return url
    place, at, behind = rest.rpartition("@")
    if at:
        user = place.partition(":")[0] if ":" in place else ""
        place = f"{user}:{MASK}" if ":" in place else MASK
    return _QUERY_PASSWORD.sub(rf"\1{MASK}", f"{scheme}{mark}{place}{at}{behind}")


def mask_metadata(metadata: dict[str, object]) -> dict[str, object]:
    """A job type's metadata for those who may not define job types."""
    return {name: _masked(name, value, hides_all=name in _ALL_VALUES) for name, value in metadata.items()}


def _masked(name: str, value: object, *, hides_all: bool) -> object:
    if isinstance(value, dict):
        return {key: _masked(str(key), one, hides_all=hides_all) for key, one in value.items()}
    if isinstance(value, list):
        return [_masked(name, one, hides_all=hides_all) for one in value]
    if is_reference(value) or value is None or isinstance(value, bool):
        return value
    if hides_all or _SECRET_NAME.search(name):
        return MASK
    return _URL_IN_TEXT.sub(lambda found: mask_url(found[0]), value) if isinstance(value, str) else value
