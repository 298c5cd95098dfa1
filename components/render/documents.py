"""Data in the formats that programs read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

HEADER = "# Written by Longhaul.\n"


class _BlockDumper(yaml.SafeDumper):
    """YAML dumper: multi-line text as a block, lists indented, no aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_BlockDumper.add_representer(str, _text)


def yaml_document(value: Any) -> str:
    """Return a YAML document, with keys in the order given."""
    return yaml.dump(value, Dumper=_BlockDumper, sort_keys=False, width=1000, allow_unicode=True)


def json_document(value: Any) -> str:
    """Return a JSON document with a line for each key."""
    return json.dumps(value, indent=1) + "\n"


def environment_file(values: Mapping[str, str]) -> str:
    """Return a file for systemd's ``EnvironmentFile=``; raise ``ValueError`` for a value that systemd would read
    differently."""
    for key, value in values.items():
        if any(character in value for character in "\n\"'\\"):
            raise ValueError(f"{key}: {value!r} cannot be written plainly in an environment file")
    return HEADER + "".join(f"{key}={value}\n" for key, value in values.items())
