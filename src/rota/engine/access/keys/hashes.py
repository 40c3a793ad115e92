"""Hashes of keys.

A made key has 256 random bits, so one round of SHA-256 with a salt is as good as any hash. A key that somebody chose
may be short, so its hash is scrypt, which takes long on purpose.
"""

import hashlib
import hmac
import secrets

_SCRYPT = {"n": 2**14, "r": 8, "p": 1}


def hash_made_key(key: str) -> str:
    salt = secrets.token_bytes(16)
    return f"sha256${salt.hex()}${hmac.digest(salt, _bytes(key), 'sha256').hex()}"


def hash_chosen_key(key: str) -> str:
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${hashlib.scrypt(_bytes(key), salt=salt, **_SCRYPT).hex()}"


def is_quick_hash(kept: str) -> bool:
    """Whether comparing with it takes microseconds."""
    return kept.startswith("sha256$")


def matches_hash(key: str, kept: str) -> bool:
    """Whether a key has this hash. A hash of another make fits no key."""
    kind, _, rest = kept.partition("$")
    salt_text, _, digest = rest.partition("$")
    try:
        salt = bytes.fromhex(salt_text)
    except ValueError:
        return False
    if kind == "sha256":
        found = hmac.digest(salt, _bytes(key), "sha256")
    elif kind == "scrypt":
        found = hashlib.scrypt(_bytes(key), salt=salt, **_SCRYPT)
    else:
        return False
    return hmac.compare_digest(found.hex(), digest)


def _bytes(key: str) -> bytes:
    """Environment variables may hold bytes that are no text."""
    return key.encode("utf-8", "surrogateescape")


def digest_of(key: str) -> bytes:
    return hashlib.sha256(_bytes(key)).digest()
