"""Conditions of role assignments, as the lab evaluates them."""

from __future__ import annotations

import pytest

from lab.cloud.azure.conditions import LIST, PATH, PREFIX, REQUESTED_ROLE, ConditionError, Operation, parse

READ = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read"
MATCH = f"ActionMatches{{'{READ}'}}"
ROLES = f"{REQUESTED_ROLE} ForAnyOfAnyValues:GuidEquals {{a-1, b-2}}"
LISTS = f"SubOperationMatches{{'{LIST}'}}"


def read(path: str | None = None, *, prefix: str | None = None, suboperation: str = "") -> Operation:
    return Operation(action=READ, path=path, prefix=prefix, suboperation=suboperation)


def listing(prefix: str) -> Operation:
    return read(prefix=prefix, suboperation=LIST)


@pytest.mark.parametrize(
    ("condition", "operation", "holds"),
    [
        (MATCH, read("a"), True),
        (f"!({MATCH})", read("a"), False),
        (f"NOT {MATCH}", Operation(action="other"), True),
        (f"{MATCH} AND {LISTS}", read("a"), False),
        (f"{MATCH} AND NOT {LISTS}", read("a"), True),
        (f"{MATCH} AND {LISTS}", listing(""), True),
        (f"{PATH} StringLike 'etcd/*'", read("etcd/1"), True),
        (f"{PATH} StringLike 'etcd/*'", read("events/etcd/1"), False),
        (f"{PATH} StringLike 'etcd/*-a.age'", read("etcd/1-a.age"), True),
        (f"{PATH} StringLike 'etcd/*-a.age'", read("etcd/1-a.age.x"), False),
        (f"{PATH} StringLike 'a?'", read("ab"), True),
        (f"{PATH} StringLike 'a.'", read("ab"), False),
        (f"{PREFIX} StringStartsWith 'etcd/'", listing("etcd/"), True),
        (f"{PREFIX} StringStartsWith 'etcd/'", listing("etcd"), False),
        (f"{PREFIX} StringStartsWith '*'", listing("etcd/"), False),
        # What does not have an attribute cannot pass a condition on it, whichever way it is turned.
        (f"{PATH} StringLike '*'", listing("etcd/"), False),
        (f"!({PATH} StringLike '*')", listing("etcd/"), False),
        (f"(!({MATCH})) OR ({PATH} StringLike '*')", Operation(action="other"), True),
        (ROLES, Operation(action="write", requested_role="B-2"), True),
        (ROLES, Operation(action="write", requested_role="c-3"), False),
        (ROLES, Operation(action="write", present_role="a-1"), False),
        (f"(({MATCH}) OR {LISTS}) AND !({LISTS})", read("a"), True),
    ],
)
def test_a_condition_holds_as_documented(condition: str, operation: Operation, holds: bool) -> None:
    assert parse(condition)(operation) is holds


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("", "more is wanted before the end"),
        (f"{MATCH} AND {LISTS} OR {LISTS}", "parentheses around"),
        (f"({MATCH}", r"\) is wanted before the end"),
        (f"{MATCH})", r"the end is wanted before \)"),
        (f"{MATCH} {LISTS}", "the end is wanted before SubOperationMatches"),
        ("ActionMatches{'a/*'}", "patterns of actions"),
        ("ActionMatches('a')", "{ is wanted"),
        (f"{PATH} StringEquals 'a'", "the operator StringEquals is not known"),
        (f"{PATH} StringLike a", "in the place of a text"),
        (f"{PATH} StringLike '\\*'", "escapes"),
        ("@Resource[x:path] StringLike 'a'", "begins no term"),
        (f"{MATCH} && {LISTS}", "begins nothing that is known"),
        ("true", "true begins no term"),
    ],
)
def test_what_is_not_of_the_grammar_is_refused(condition: str, said: str) -> None:
    with pytest.raises(ConditionError, match=said):
        parse(condition)
