"""Masks secrets: a value that the engine, its key or its text marks as secret is never shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clouds.base.inputs import MASKED, PRIVATE_KEY, SECRET, SIGNATURE, UNKNOWN

LATER = "[known later]"
"""Text for a value that is not known yet."""

_WORDS = (
    r"pass(word|wd|phrase|code)|secrets?|tokens?|credentials?|psk|ciphertext|plaintext|kubeconfig"
    r"|(private|shared|pre_?shared|api|access|account|signing|encryption)_?keys?|connection_?string|sas_?url"
)
_KEY = re.compile(rf"(^|[_.-])({_WORDS})([_.-]|\d|$)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_OPEN = frozenset(("http_tokens", "automount_service_account_token"))
"""Keys that only sound secret. For example, a reviewer has to see whether EC2 requires tokens for requests to its
metadata service."""

_TOKEN = re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_LOGIN = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_ASSIGNED = re.compile(rf"(?im)(?P<key>[\w.-]*(?:{_WORDS})[\w.-]*[\"']?\s*[:=]\s*)(?P<value>[^\s#][^\n]*)")
_OPAQUE = re.compile(r"(?<![\w:/.+-])(?![+-]?/subscriptions/[0-9a-f-]{36}/)[A-Za-z0-9+/_-]{40,}={0,2}(?![\w.])")
"""A run that may be a key. An id of a resource in Azure is as long, and no secret."""


def is_secret_key(key: str) -> bool:
    """Return whether a key's value is to be masked, judged by the key's name: ``sharedKey``,
    ``tunnel1_preshared_key``."""
    snake = _CAMEL.sub("_", key).lower()
    return snake not in _OPEN and _KEY.search(snake) is not None


def mask(value: Any, *, key: str = "") -> Any:
    """Return ``value`` with every secret in it masked; ``key`` is the key that holds it."""
    if value == UNKNOWN:
        return LATER
    if value is None or isinstance(value, bool):
        return value
    if is_secret_key(key) or (isinstance(value, Mapping) and value.get(SIGNATURE) == SECRET):
        return MASKED
    if isinstance(value, Mapping):
        return {str(name): mask(inner, key=str(name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [mask(inner) for inner in value]
    return mask_text(value) if isinstance(value, str) else value


def mask_text(text: str) -> str:
    """Mask private keys, tokens, and credentials in URLs and in ``bearer`` or ``basic`` authorizations."""
    text = PRIVATE_KEY.sub(MASKED, text)
    text = _LOGIN.sub(MASKED, _TOKEN.sub(MASKED, text))
    return _BEARER.sub(lambda match: f"{match[1]} {MASKED}", text)


def mask_file(text: str) -> str:
    """Mask the text of an unknown file. In addition to :func:`mask_text`, mask values assigned to secret-looking
    names, and opaque runs of 40 characters or more, which may be keys; ids of Azure's resources stay."""
    text = mask_text(text)
    text = _ASSIGNED.sub(lambda match: f"{match['key']}{MASKED}", text)
    return _OPAQUE.sub(MASKED, text)
