"""The resources that Longhaul itself declares break no policy."""

from __future__ import annotations

import importlib
import inspect
from functools import cache

import pytest

from clouds.base.policy import Resource
from clouds.base.policy_rules import TAGS
from components.model import Environment, load
from components.model.policy.judging import checks, policies
from tests.components.policy.samples import resources
from tests.support.hosts import stack_file
from tests.support.whole import declare_whole, with_few_machines

TAGGED = {kind for check in checks() if check.rule is TAGS for kind in check.kinds}


@cache
def environment(name: str) -> Environment:
    """Return the environment as it is in the tree, with only a few machines of each kind."""
    return with_few_machines(load(stack_file(name)))


@cache
def program(name: str) -> tuple[Resource, ...]:
    """Return the resources that it declares; declared once for all tests."""
    return resources(declare_whole(environment(name)), stack=name)


@pytest.mark.parametrize("name", ["lab", "prod"])
def test_the_program_is_clean(name: str) -> None:
    assert policies(environment(name)).judge(program(name)).findings == ()


@pytest.mark.parametrize("name", ["lab", "prod"])
def test_what_is_declared_public_is_what_the_program_makes(name: str) -> None:
    public = policies(environment(name)).declared.public
    assert public
    assert public <= {one.name for one in program(name)}


@pytest.mark.parametrize("name", ["lab", "prod"])
def test_every_kind_that_takes_tags_is_asked_for_them(name: str) -> None:
    kinds = {one.kind for one in program(name) if one.type.startswith(("aws:", "azure-native:"))}
    assert {kind for kind in kinds if takes_tags(kind)} == kinds & TAGGED


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # whole modules of an SDK are loaded
def test_no_kind_is_asked_for_tags_that_it_does_not_take() -> None:
    assert {kind for kind in TAGGED if not takes_tags(kind)} == set()


def takes_tags(kind: str) -> bool:
    """Return whether the SDK's class has tags."""
    package, module, name = kind.split(":")
    sdk = importlib.import_module(f"pulumi_{package.replace('-', '_')}.{module.partition('/')[0]}")
    return "tags" in inspect.signature(getattr(sdk, name)._internal_init).parameters
