"""Data as the text that programs read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

HEADER = "# Written by Longhaul.\n"


class _Dumper(yaml.SafeDumper):
    """Text of several lines as a block, lists indented, no aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_document(value: Any) -> str:
    """A YAML document, keys in the order given."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)


def json_document(value: Any) -> str:
    """A JSON document with a line for each key."""
    return json.dumps(value, indent=1) + "\n"


def environment_file(values: Mapping[str, str]) -> str:
    """A file for systemd's ``EnvironmentFile=``; ``ValueError`` for a value that it would read differently."""
    for key, value in values.items():
        if any(character in value for character in "\n\"'\\"):
            raise ValueError(f"{key}: {value!r} cannot be written plainly in an environment file")
    return HEADER + "".join(f"{key}={value}\n" for key, value in values.items())
