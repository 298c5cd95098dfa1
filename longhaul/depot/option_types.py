"""Types of the options of ``longhaul depot``. The message of an ``argparse.ArgumentTypeError`` says what to write."""

from __future__ import annotations

import argparse
import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longhaul.artifacts.depot_content import Pull
    from longhaul.artifacts.nvidia_driver import DriverRequest


def sources(text: str) -> tuple[str, Path]:
    """Parse ``SUITE=FILE``."""
    suite, equals, path = text.partition("=")
    if not (suite and equals and path):
        raise argparse.ArgumentTypeError(f"{text!r}: write SUITE=FILE, as in noble=noble.list")
    return suite, Path(path)


def package(text: str) -> tuple[str, str]:
    """Parse ``SUITE=NAME`` or ``SUITE=NAME=VERSION``."""
    suite, equals, name = text.partition("=")
    if not (suite and equals and re.fullmatch(r"[a-z0-9][a-z0-9.+-]*(=[A-Za-z0-9.+:~-]+)?", name)):
        raise argparse.ArgumentTypeError(f"{text!r}: write SUITE=NAME or SUITE=NAME=VERSION")
    return suite, name


def driver(text: str) -> DriverRequest:
    """Parse ``SUITE=KERNEL`` or ``SUITE=KERNEL=KIND``."""
    from longhaul.artifacts.nvidia_driver import parse_request

    try:
        return parse_request(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def pull(text: str) -> Pull:
    """Parse ``REGISTRY/PATH:TAG@sha256:…``."""
    from longhaul.artifacts.depot_content import parse_pull

    try:
        return parse_pull(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def digest(text: str) -> str:
    """Parse a SHA-256, with or without the algorithm as a prefix."""
    plain = text.removeprefix("sha256:")
    if len(plain) != 64 or set(plain) - set("0123456789abcdef"):
        raise argparse.ArgumentTypeError(f"{text!r}: a digest is 64 hexadecimal digits in lower case")
    return plain


def key(text: str) -> str:
    """Read public keys in the format of ``gpg --export``. Return them in the form of the environment's file."""
    from components.model.depots.section import key_fault

    try:
        encoded = base64.b64encode(Path(text).read_bytes()).decode("ascii")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from error
    if wrong := key_fault(encoded):
        raise argparse.ArgumentTypeError(f"{text} {wrong}: `gpg --export KEY > {text}` writes one")
    return encoded


def listen(text: str) -> tuple[str, int]:
    """Parse ``ADDRESS:PORT``."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r}: write ADDRESS:PORT, as in 10.0.0.5:80 or [::1]:8080")
    return host.removeprefix("[").removesuffix("]"), int(port)
