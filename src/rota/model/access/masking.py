"""What is not shown to everybody: passwords in URLs, and values of a job type that may be secrets.

A reference (`env:NAME`, `file:/PATH`) says where a node finds a secret and is none itself, so it is shown.
"""

import re

MASK = "***"
_QUERY_PASSWORD = re.compile(r"([?&;][^=&;?]*(?:password|secret|token|passwd)=)[^&;#]*", re.IGNORECASE)
_WORD = re.compile(r"\S+")
_OF_SCHEME = re.compile(r"[\w+.-]")
_MARK = re.compile("[@?&]")
"""Of a URL that may have a password."""
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
    return _mask_text(value) if isinstance(value, str) else value


def _mask_text(text: str) -> str:
    """Text without the passwords of URLs in it. Word by word, each looked at once: whoever may see a job type could
    otherwise keep a server busy for minutes with a long one."""
    return _WORD.sub(lambda found: _mask_word(found[0]), text) if "://" in text else text


def _mask_word(word: str) -> str:
    begin = at = word.find("://")
    if at < 0 or not _MARK.search(word, at + 4):
        return word
    while begin > 0 and _OF_SCHEME.match(word[begin - 1]):
        begin -= 1
    return word[:begin] + mask_url(word[begin:]) if begin < at else word
