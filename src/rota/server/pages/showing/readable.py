"""Characters that nobody sees, or that turn the direction of what follows, made visible: no text may be read as what it
is not."""

import re

_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_PICTURES = 0x2400
"""Where Unicode has pictures of the control characters."""


def readable(text: str) -> str:
    """The same text, as it reads."""
    return _HIDDEN.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else "\ufffd"
