"""Work of the SDK that the program leaves out. Errors and earlier names of resources stay complete."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap

import pytest

from components.environment.lean_sdk import DEBUG

PROGRAM = """
import gc, sys, traceback
from components.environment.lean_sdk import FRAMES, lean

def deep(n):
    return deep(n - 1) if n else len(traceback.extract_stack())

with lean():
    assert deep(40) == FRAMES
    assert not gc.isenabled()

def fail(n):
    if n:
        fail(n - 1)
    raise ValueError("the innermost")

with lean():
    fail(40)
"""

STACK = """
import pulumi
from pulumi.runtime import mocks
from pulumi_azure_native import privatedns
from components.environment.lean_sdk import forget_versions, lean

class Cloud(mocks.Mocks):
    def new_resource(self, args):
        return args.name, args.inputs
    def call(self, args):
        raise NotImplementedError

class Engine(mocks.MockEngine):
    def Log(self, request):
        print("said")

seen = []

def watch(args):
    seen.extend(alias.type_ for alias in args.opts.aliases or [] if alias.type_ is not ...)
    seen.extend(alias.name for alias in args.opts.aliases or [] if alias.name is not ...)
    assert args.opts.protect is True

mocks.set_mocks(Cloud())
mocks.configure(mocks.MockSettings(monitor=mocks.MockMonitor(Cloud()), engine=Engine(None), project="p", stack="s"))
with lean():
    forget_versions()
    pulumi.runtime.register_stack_transformation(watch)
    opts = pulumi.ResourceOptions(protect=True, aliases=[pulumi.Alias(name="before")])
    privatedns.PrivateZone("one", resource_group_name="g", opts=opts)
print(*seen, sep="\\n")
"""

FAILING = """
import asyncio
import pulumi
from pulumi.runtime.stack import run_pulumi_func
from components.environment.lean_sdk import wait_once

async def program():
    def declare():
        pulumi.Output.from_input(asyncio.get_running_loop().create_future())
        pulumi.Output.from_input(1).apply(lambda _: 1 / 0)
        wait_once()
    await run_pulumi_func(declare)

asyncio.run(program())
"""

COMING = """
import asyncio
import pulumi
from pulumi.runtime.settings import SETTINGS
from pulumi.runtime.stack import wait_for_rpcs
from components.environment.lean_sdk import wait_once

said = []

async def program():
    first = asyncio.get_running_loop().create_future()
    value = pulumi.Output.from_input(first)
    # Declared only when the first is there.
    value.apply(lambda one: pulumi.Output.from_input(one + 1).apply(lambda two: said.append(two)))
    wait_once()
    assert len(SETTINGS.outputs) == 1
    asyncio.get_running_loop().call_soon(first.set_result, 1)
    await wait_for_rpcs()

asyncio.run(program())
assert said == [2], said
"""


def ran(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own: it changes settings of the whole process."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environ},
    )


@pytest.fixture(name="done")
def _done() -> subprocess.CompletedProcess[str]:
    return ran(PROGRAM)


def test_the_stack_is_cut_and_an_error_is_not(done: subprocess.CompletedProcess[str]) -> None:
    assert done.stderr.splitlines()[-1] == "ValueError: the innermost"
    assert "AssertionError" not in done.stderr
    assert "repeated 37 more times" in done.stderr


def test_importing_it_changes_nothing() -> None:
    import components.environment.lean_sdk  # noqa: F401

    assert gc.isenabled()
    assert not hasattr(sys, "tracebacklimit")


@pytest.fixture(name="names", scope="module")
def _names() -> list[str]:
    """Aliases of a resource that moved."""
    done = ran(STACK)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_earlier_names_stay(names: list[str]) -> None:
    assert {"before", "azure-native:network:PrivateZone"} <= {*names}


def test_versions_of_the_interface_are_left_out(names: list[str]) -> None:
    assert not [name for name in names if "/v" in name]
    kept = ran(STACK.replace("    forget_versions()\n", "")).stdout.split()
    assert [name for name in kept if "/v" in name]
    assert [name for name in kept if "/v" not in name] == names


def test_its_debug_messages_are_sent_when_asked_for(names: list[str]) -> None:
    assert "said" not in names
    assert "said" in ran(STACK, **{DEBUG: "1"}).stdout.split()


def test_a_value_that_fails_ends_the_program_though_another_never_comes() -> None:
    done = ran(FAILING)
    assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_values_are_waited_for_those_that_others_bring_too() -> None:
    done = ran(COMING)
    assert done.returncode == 0, done.stderr
