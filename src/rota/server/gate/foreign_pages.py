"""Whether a browser sends a request for a page of another site.

Browsers say so themselves in `Sec-Fetch-Site`, which no page can set; older ones, and all of them over plain HTTP from
elsewhere, at least say the page's `Origin`. Programs say neither.
"""

from collections.abc import Mapping

from rota.server.gate.names import Names, host_of

_OWN = (b"same-origin", b"none")
_SCHEMES = (b"http://", b"https://")


def is_from_foreign_page(method: str, headers: Mapping[bytes, bytes], names: Names) -> bool:
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site in _OWN:
        return False
    if origin is not None:
        return not _is_own(origin, headers.get(b"host", b""), names)
    return site is not None and not _is_followed_link(method, headers)


def _is_own(origin: bytes, host: bytes, names: Names) -> bool:
    """The very host and port that is asked, or a name that a setting gives: a proxy may have changed `Host`."""
    scheme = next((one for one in _SCHEMES if origin.startswith(one)), None)
    if scheme is None:
        return False  # "null" among others
    place = origin.removeprefix(scheme)
    return place.lower() == host.lower() or names.names(host_of(place))


def _is_followed_link(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """A person follows a link from elsewhere: the page that holds it sees nothing of the answer."""
    is_page = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
    return is_page and method in ("GET", "HEAD")
