"""No secret in what a machine starts with, nor in plain in what the engine keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from longhaul.policy.declared import Declared
from longhaul.policy.resource import INSTANCE, LAUNCH_TEMPLATE, SCALE_SET, VIRTUAL_MACHINE, Resource
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.unpack import plain_texts
from longhaul.policy.values import at, is_hidden, is_secret, is_unknown, walk

USER_DATA: Mapping[str, tuple[str, ...]] = {
    INSTANCE: ("userData", "userDataBase64"),
    LAUNCH_TEMPLATE: ("userData",),
    VIRTUAL_MACHINE: ("osProfile.customData", "userData"),
    SCALE_SET: ("virtualMachineProfile.osProfile.customData", "virtualMachineProfile.userData"),
}
"""By kind, where what a machine starts with is."""

_QUOTE = r"[\"']?"
_SAID = rf"{_QUOTE}[ \t]*[:=][ \t]*"
_VALUE = rf"{_QUOTE}(?![/$<{{\[]|https?:)(?:[^\s\"',;{{}}\[\]$]|\$(?!{{)){{6,}}"
"""A value that is meant: no placeholder (`${…}`, `<…>`), no path, no address."""

_ENTRY = rf"{_QUOTE}[a-z]+(?:-[a-z0-9]+)*(?:[\"'\s,;}}]|$)"
"""Name of an entry of the vault, which machines are told."""

_NAMES = (
    r"passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|pre[_-]?shared[_-]?key|psk|client-key-data|"
    # etcd's `initial-cluster-token` is a name that tells clusters apart (etcd.io, "Configuration options").
    r"(?<!cluster_)token"
)
"""What is said to be a secret, in small letters."""

PATTERNS: Mapping[str, re.Pattern[str]] = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    "a private key in age's format": re.compile(r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a storage account's key": re.compile(r"\b(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{20,}"),
    "a signed storage address": re.compile(r"[?&]sig=[A-Za-z0-9%]{20,}"),
    "a signed token": re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,})"),
    "a Kubernetes bootstrap token": re.compile(r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])"),
    "a password's hash": re.compile(r"\$(?:1|5|6|y|2[abxy])\$[./A-Za-z0-9$=,]{8,}"),
    "a password or token": re.compile(rf"(?i)(?:\b|_)(?:{_NAMES}){_SAID}{_VALUE}"),
    "a secret": re.compile(rf"(?i:(?:\b|_)secret{_SAID})(?!{_ENTRY}){_VALUE}"),
}
"""What secrets look like, by what they are: formats that say so themselves (RFC 7468, 7519; docs.aws.amazon.com, "IAM
identifiers"; kubernetes.io, "Authenticating with Bootstrap Tokens"; crypt(5)), and names that hold one."""

_SECRET_KEYS = re.compile(
    r"(?i)(password|passphrase|sharedkey|secretstring|secretkey|authorizationkey|privatekey(pem)?)$"
)
"""Properties that hold a secret whatever their value, in the SDKs' spelling."""


def secrets_in(data: str) -> Iterator[tuple[str, int]]:
    """What looks like a secret in user data, unpacked, with the line of its part, counted from 1; never the secret."""
    for text in plain_texts(data):
        for what, pattern in PATTERNS.items():
            for match in pattern.finditer(text):
                yield what, text.count("\n", 0, match.start()) + 1


def _user_data(resource: Resource, _: Declared) -> Iterator[Fault]:
    write = "the secret in the vault, fetched by the machine with its own identity (docs/certificates.md)"
    for place in USER_DATA[resource.kind]:
        data = at(resource.inputs, place)
        if data is not None and is_hidden(resource.inputs, place):
            yield Fault(what=f"{place} is made of a secret", write=write)
        elif isinstance(data, str) and not is_unknown(data):
            for what, line in sorted(set(secrets_in(data))):
                yield Fault(what=f"{place}, unpacked, line {line}: {what}", write=write)


def _plain(resource: Resource, _: Declared) -> Iterator[Fault]:
    for place, key, value in walk(resource.inputs):
        hidden = is_unknown(value) or is_secret(value)
        if _SECRET_KEYS.search(key) and isinstance(value, str) and value and not hidden:
            yield Fault(what=f"{place} is in plain in the engine's state", write="an output marked as secret")


RULES = (
    Rule(
        id="secret-in-user-data",
        reason="What a machine starts with holds no secret: whoever may describe the machine can read it.",
        source='learn.microsoft.com, "User Data for Azure Virtual Machine", Security warning; docs/certificates.md',
        kinds=frozenset(USER_DATA),
        look=_user_data,
        waivable=False,
    ),
    Rule(
        id="secret-in-plain",
        reason="A property that holds a secret is marked as one: the engine's state and every log would show it.",
        source="pulumi.com, Secrets; docs/certificates.md",
        kinds=frozenset(),
        look=_plain,
        waivable=False,
    ),
)
