"""Properties of a resource that change, and how they are shown."""

from __future__ import annotations

import base64
import json
from typing import Any

from clouds.base.inputs import UNKNOWN
from longhaul.judgement.masking import LATER
from longhaul.judgement.properties import Property, properties
from tests.longhaul.judgement.steps import changes, step

NSG = "azure-native:network:NetworkSecurityGroup"


def differing(before: dict[str, Any], after: dict[str, Any], **more: Any) -> list[Property]:
    return list(properties(changes(step("update", NSG, "lab-weu-api-rules", before, after, **more)).changes[0]))


def shown(before: dict[str, Any], after: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    return [(one.path, one.before, one.after) for one in differing(before, after, **more)]


def test_only_what_changes_is_shown() -> None:
    assert shown({"a": 1, "b": {"c": "x", "d": [1, 2]}}, {"a": 1, "b": {"c": "y", "d": [1, 3]}, "e": True}) == [
        ("b.c", "x", "y"),
        ("b.d", "[1, 2]", "[1, 3]"),
        ("e", "-", "true"),
    ]


def test_one_rule_more_does_not_change_those_that_follow_it() -> None:
    rules = [{"name": name, "port": port} for name, port in (("api", 1), ("join", 2), ("rest", 3))]
    assert shown({"rules": [rules[0], rules[2]]}, {"rules": rules}) == [
        ("rules[join].name", "-", "join"),
        ("rules[join].port", "-", "2"),
    ]


def test_elements_without_a_name_are_told_apart_by_their_place() -> None:
    assert shown({"rules": [{"port": 1}, {"port": 2}]}, {"rules": [{"port": 1}, {"port": 3}]}) == [
        ("rules[1].port", "2", "3")
    ]


def test_what_makes_a_new_resource_is_marked() -> None:
    found = differing({"a": 1, "b": 1}, {"a": 2, "b": 2}, detailed={"a": "update-replace", "b": "update"})
    assert [(one.path, one.replaces) for one in found] == [("a", True), ("b", False)]


def test_a_named_element_is_matched_with_the_providers_count() -> None:
    before, after = ({"rules": [{"name": "api", "port": port}]} for port in (1, 2))
    found = differing(before, after, detailed={"rules[0].port": "update-replace"})
    assert [(one.path, one.replaces) for one in found] == [("rules[api].port", True)]


def test_what_is_not_known_yet_counts_where_the_provider_says_so() -> None:
    before, after = {"a": "x", "b": "y"}, {"a": UNKNOWN, "b": UNKNOWN}
    assert shown(before, after, detailed={"a": "update"}) == [("a", "x", LATER)]
    assert shown(before, after) == [("a", "x", LATER), ("b", "y", LATER)]


def test_what_was_changed_in_the_cloud_is_shown_from_its_outputs() -> None:
    drifted = step("update", NSG, "lab", {"size": 1}, {"size": 1}, detailed={"size": "update"}, outputs={"size": 5})
    found = properties(changes(drifted).changes[0])
    assert [(one.path, one.before, one.after) for one in found] == [("size", "5", "1")]


def test_what_a_refresh_finds_is_shown() -> None:
    refreshed = step("update", NSG, "lab", {"size": 1}, {"size": 1}, detailed={"size": "update"}, outputs={"size": 1})
    refreshed["newState"]["outputs"] = {"size": 5}
    found = properties(changes(refreshed).changes[0])
    assert [(one.path, one.before, one.after) for one in found] == [("size", "1", "5")]


def test_the_engines_own_keys_are_not_shown() -> None:
    assert shown({"__provider": "a", "__defaults": []}, {"__provider": "b", "__defaults": ["x"]}) == []


def user_data(**files: str) -> str:
    entries = "".join(f"- path: /etc/{name}\n  content: {json.dumps(content)}\n" for name, content in files.items())
    return base64.b64encode(f"#cloud-config\nwrite_files:\n{entries}".encode()).decode()


def test_user_data_is_told_by_its_files() -> None:
    before = {"osProfile": {"customData": user_data(a="one\ntwo", b="same", c="gone")}}
    after = {"osProfile": {"customData": user_data(a="one\n2", b="same", d="new")}}
    (found,) = differing(before, after)
    assert found.after == "cloud-init changed: files changed /etc/a; new /etc/d; gone /etc/c"
    assert found.lines == ("  /etc/a", "-two", "+2")


def test_of_many_lines_a_few_are_shown() -> None:
    old, new = ("\n".join(f"{word} {number}" for number in range(50)) for word in ("old", "new"))
    (found,) = differing({"script": old}, {"script": new})
    assert found.after == "text changed: 50 lines gone, 50 new"
    assert len(found.lines) == 12
    assert found.lines[-1] == "  … 89 lines more"


def test_a_long_line_is_shown_where_it_differs() -> None:
    old, new = (f"ARGS=--one=1 {'--filler=x ' * 20}--port={port} --last" for port in (6443, 7443))
    (found,) = differing({"script": f"#!/bin/sh\n{old}"}, {"script": f"#!/bin/sh\n{new}"})
    assert found.lines == (
        "-ARGS=--one=1 --filler=x … --port=6443 --last",
        "+ARGS=--one=1 --filler=x … --port=7443 --last",
    )


def test_a_document_in_json_is_told_by_its_lines() -> None:
    statements = ([{"Action": action, "Effect": "Allow", "Resource": "*"}] for action in ("ec2:Describe", "ec2:*"))
    old, new = (
        json.dumps({"Statement": statement, "Version": "2012-10-17", "Id": "x" * 60}) for statement in statements
    )
    (found,) = differing({"policy": old}, {"policy": new})
    assert found.lines == ('-      "Action": "ec2:Describe",', '+      "Action": "ec2:*",')
