"""The changes that are read from the engine's document."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from longhaul.judgement.changes import ResourceAction, read_changes
from longhaul.judgement.preview_document import read_document, read_files
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.judgement.steps import changes, stack, step, text

SUBNET = "azure-native:network:Subnet"


@pytest.mark.parametrize(
    ("op", "action"),
    [
        ("create", ResourceAction.MAKE),
        ("update", ResourceAction.CHANGE),
        ("delete", ResourceAction.DESTROY),
        ("replace", ResourceAction.REPLACE),
        ("create-replacement", ResourceAction.REPLACE),
        ("delete-replaced", ResourceAction.CLEAR),
        ("read-replacement", ResourceAction.FORGET),
        ("discard", ResourceAction.FORGET),
        ("discard-replaced", ResourceAction.FORGET),
        ("import", ResourceAction.ADOPT),
        ("import-replacement", ResourceAction.REPLACE),
    ],
)
def test_what_an_operation_is(op: str, action: ResourceAction) -> None:
    assert [change.action for change in changes(step(op, SUBNET, "lab-weu-etcd")).changes] == [action]


@pytest.mark.parametrize("op", ["same", "read", "refresh", "remove-pending-replace"])
def test_what_changes_nothing_is_no_change(op: str) -> None:
    assert changes(step(op, SUBNET, "lab-weu-etcd"), same=7).changes == ()


def test_an_unknown_operation_is_an_error_in_words() -> None:
    with pytest.raises(CommandError, match=r"would 'transmogrify' lab-weu-etcd, an operation that this Longhaul"):
        changes(step("transmogrify", SUBNET, "lab-weu-etcd"))


@pytest.mark.parametrize(
    "ops", [("create-replacement", "replace", "delete-replaced"), ("delete", "create"), ("delete-replaced", "replace")]
)
def test_the_steps_of_a_replacement_are_one(ops: tuple[str, ...]) -> None:
    found = changes(*(step(op, SUBNET, "lab-weu-etcd", {"a": 1}, {"a": 2}) for op in ops)).changes
    assert [(change.action, change.before, change.after) for change in found] == [
        (ResourceAction.REPLACE, {"a": 1}, {"a": 2})
    ]


def test_what_the_cloud_keeps_is_let_go_of() -> None:
    kept = changes(step("delete", SUBNET, "lab-weu-etcd", retainOnDelete=True)).changes
    left = changes(step("delete", SUBNET, "lab-weu-etcd", delete=True)).changes
    assert (kept[0].action, left[0].action) == (ResourceAction.FORGET, ResourceAction.CLEAR)


def test_changes_come_in_the_order_of_their_names() -> None:
    found = changes(*(step("create", SUBNET, name) for name in ("c", "a", "b")))
    assert [change.name for change in found.changes] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("error: boom", "is not JSON"),
        ("[]", "it has no `steps`"),
        ('{"sequence": 1}', "PULUMI_ENABLE_STREAMING_JSON_PREVIEW"),
        ('{"steps": [{"op": "create"}]}', r"steps\.0\.urn: Field required"),
        ('{"steps": [], "maybeCorrupt": true}', "state may be corrupt"),
        ('{"steps": [{"op": "create", "urn": "nonsense"}]}', "not a URN"),
        ('{"steps": ' + "[" * 100_000, "nested too deep"),
    ],
    ids=range(7),
)
def test_what_is_no_preview_is_said(content: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        read_changes(map(partial(read_document, source="ci.json"), [content]))


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ([text([])], "has no steps, so it shows nothing about dev"),
        ([text([step("update", SUBNET, "a")])], "no step is of a stack"),
        ([text([stack("lab")])], "is a preview of lab, not of dev"),
        ([text([stack("dev"), stack("lab")])], "is a preview of lab, not of dev"),
        ([text([stack("dev-objects")])], "is of dev-objects alone"),
        ([text([stack("dev")]), text([stack("dev2")])], "is a preview of dev2, not of dev"),
        (["\xff"], "is not text in UTF-8"),
        ([None], "Is a directory"),
    ],
    ids=["empty", "no-stack", "another", "two", "objects-alone", "second-of-another", "bytes", "folder"],
)
def test_a_file_that_says_nothing_of_the_environment_is_refused(
    contents: list[str | None], message: str, tmp_path: Path
) -> None:
    paths = [tmp_path / str(index) for index, _ in enumerate(contents)]
    for path, content in zip(paths, contents, strict=True):
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content.encode("latin-1"))
    with pytest.raises(CommandError, match=message) as caught:
        read_files(paths, env="dev")
    assert caught.value.code is Exit.USAGE


def test_both_stacks_of_an_environment_are_its_own(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("dev", "dev-objects")]
    for path in paths:
        path.write_text(text([stack(path.name)]))
    assert [document.stacks for document in read_files(paths, env="dev")] == [{"dev"}, {"dev-objects"}]


def test_a_failed_preview_is_no_plan() -> None:
    failed = text([], diagnostics=[{"severity": "error", "message": "no such zone\n"}])
    with pytest.raises(CommandError, match=r"ci\.json: the preview failed.*\n  no such zone"):
        read_document(failed, source="ci.json")


def test_a_value_that_is_wrong_is_not_quoted() -> None:
    with pytest.raises(CommandError) as raised:
        read_document('{"steps": [{"op": "create", "urn": "u", "newState": "hunter2"}]}', source="ci.json")
    assert "hunter2" not in str(raised.value)
