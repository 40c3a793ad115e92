"""Characters that nobody sees, or that turn the direction of what follows, made visible: no text may be read as what it
is not. What a form sends back must stay what it was: there they are spelled, and not replaced."""

import re

from markupsafe import Markup, escape

_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_PICTURES = 0x2400
"""Where Unicode has pictures of the control characters."""
_LAST_CONTROL = 0x9F
"""HTML has no references to control characters."""


def readable(text: str) -> str:
    """The same text, as it reads."""
    return _HIDDEN.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def readable_json(text: str) -> str:
    """The same JSON, as it reads: hidden characters are only in its strings, which can spell them."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def field_value(text: str) -> Markup:
    """Text as the value of a field, which has it unchanged."""
    return Markup(_HIDDEN.sub(_reference, str(escape(text))))


def _reference(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"&#x{code:x};" if code > _LAST_CONTROL else found[0]
