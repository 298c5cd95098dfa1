"""What each table of AWS resource types is made of: a type, and one call for one resource of it."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from clouds.aws.session import Session

T = TypeVar("T")
POLL_S = 0.2
"""How often the state of something under way is asked for."""
PATIENCE_S = 900.0
"""How long what is under way is waited for; the real plugin's waits are 5 to 20 minutes."""


class AwsRefusedError(Exception):
    """A change that this plugin cannot make, or that took too long."""


@dataclass(kw_only=True)
class Call:
    """One call for one resource."""

    clients: Session
    region: str
    inputs: dict[str, Any]
    """Plain: without secret markers."""
    old: dict[str, Any] = field(default_factory=dict)
    """The inputs before an update; the outputs when something is read or deleted."""
    id: str = ""
    cancelled: threading.Event = field(default_factory=threading.Event)
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    """A client token: EC2 takes a repeated request with the same token for the same."""

    @property
    def ec2(self) -> Any:
        return self.clients.client("ec2", self.region)

    @property
    def autoscaling(self) -> Any:
        return self.clients.client("autoscaling", self.region)

    @property
    def iam(self) -> Any:
        return self.clients.client("iam", self.region)

    @property
    def tags(self) -> dict[str, str]:
        """The tags that the resource should have."""
        return {str(key): str(value) for key, value in (self.inputs.get("tags") or {}).items()}

    def changed(self, *names: str) -> bool:
        """Whether an update changes any of these inputs."""
        return any(self.inputs.get(name) != self.old.get(name) for name in names)

    def until(self, condition: Callable[[], T | None], what: str) -> T:
        """Await a condition.

        Raises:
            AwsRefusedError: the engine asked to stop, or it took too long.
        """
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = condition()
            if found:
                return found
            if self.cancelled.wait(POLL_S):
                raise AwsRefusedError(f"the engine asked to stop while waiting for {what}")
            if time.monotonic() > deadline:
                raise AwsRefusedError(f"{what} took longer than {PATIENCE_S:.0f} s")

    def retried(self, codes: Iterable[str], action: Callable[[], Any], what: str) -> None:
        """Do something that AWS refuses while other things still depend on it, until it does not."""
        wanted = frozenset(codes)

        def attempt() -> bool:
            try:
                action()
            except Exception as problem:
                if code_of(problem) in wanted:
                    return False
                raise
            return True

        self.until(lambda: attempt() or None, what)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One resource type of the SDK."""

    type: str
    """As in a URN, ``aws:ec2/vpc:Vpc``."""
    inputs: str
    """Every input that this plugin knows, separated by blanks; another one is an error. ``region`` is always known."""
    forced: str = ""
    """Inputs whose change makes a new resource (``ForceNew`` in terraform-provider-aws)."""
    create: Callable[[Call], str]
    """Returns the id."""
    look: Callable[[Call], dict[str, Any] | None]
    """The resource by :attr:`Call.id` as AWS tells of it; None when it is not there."""
    outputs: Callable[[Call, dict[str, Any]], dict[str, Any]]
    """Its outputs, but for EC2's tags."""
    delete: Callable[[Call], None]
    update: Callable[[Call], None] | None = None
    find: Callable[[Call], Iterable[str]] | None = None
    """Ids of what a killed creation may have left."""
    secrets: str = ""
    """Outputs that the real plugin marks as secret."""
    volatile: str = ""
    """Outputs that an update changes."""
    tagged: bool = False
    """Whether it has EC2's tags, which are changed apart from all else."""
    global_: bool = False
    """Whether its service has no regions."""

    def read(self, call: Call) -> dict[str, Any] | None:
        """The outputs by :attr:`Call.id`; None when it is not there."""
        found = self.look(call)
        if found is None:
            return None
        return self.outputs(call, found) | (tag_outputs(found) if self.tagged else {})

    @property
    def known(self) -> frozenset[str]:
        own = {"region"} if not self.global_ else set()
        return frozenset({*self.inputs.split(), *own, *({"tags"} if self.tagged else set())})

    @property
    def forcing(self) -> frozenset[str]:
        return frozenset({*self.forced.split(), *(() if self.global_ else ("region",))})


def code_of(problem: BaseException) -> str:
    """AWS's code of an error; empty for another kind of error."""
    response = getattr(problem, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def missing(problem: BaseException) -> bool:
    """Whether an error says that a resource is not there."""
    code = code_of(problem)
    return "NotFound" in code or code == "NoSuchEntity"


def absent_is_none(read: Callable[[], T]) -> T | None:
    """What ``read`` returns; None when AWS says that it is not there."""
    try:
        return read()
    except Exception as problem:
        if missing(problem):
            return None
        raise


def deletes(operation: str, key: str, *, busy: Iterable[str] = ()) -> Callable[[Call], None]:
    """A deletion of what EC2 has by its id, or not any more; ``busy`` are the codes by which AWS refuses it while other
    things still depend on it."""

    def delete(call: Call) -> None:
        action = partial(getattr(call.ec2, operation), **{key: call.id})
        call.retried(busy, partial(gone_is_fine, action), f"deleting {call.id}")

    return delete


def gone_is_fine(delete: Callable[[], Any]) -> None:
    """Delete what may already be gone."""
    try:
        delete()
    except Exception as problem:
        if not missing(problem):
            raise


def given(call: Call, **names: str) -> dict[str, Any]:
    """Arguments of the API for those of the inputs that say something, by the inputs' names."""
    return {key: call.inputs[name] for key, name in names.items() if call.inputs.get(name)}


def specification(kind: str, call: Call) -> list[dict[str, Any]]:
    """Tags at creation, as EC2 takes them."""
    if not call.tags:
        return []
    return [{"ResourceType": kind, "Tags": listed(call.tags)}]


def listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as the API takes them."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def mapped(tags: Iterable[Mapping[str, str]] | None) -> dict[str, str]:
    """Tags as a map, without those that AWS itself sets."""
    return {one["Key"]: one["Value"] for one in tags or [] if not one["Key"].startswith("aws:")}


def tag_outputs(found: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs that every tagged resource has."""
    tags = mapped(found.get("Tags") or found.get("TagSet"))
    return {"tags": tags, "tagsAll": tags}


def same_tags(call: Call, found: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    """Ids of those resources that have exactly the tags asked for. Tags hold a unique ``Name`` throughout."""
    if not call.tags.get("Name"):
        return []
    return [str(item[key]) for item in found if mapped(item.get("Tags")) == call.tags]


def by_name(call: Call) -> list[dict[str, Any]]:
    """A filter for the tag ``Name``."""
    return [{"Name": "tag:Name", "Values": [call.tags.get("Name", "")]}]


@dataclass(frozen=True, kw_only=True)
class Described:
    """How EC2 tells of the resources of one type."""

    operation: str
    answer: str
    """Key of the list in the operation's answer."""
    key: str
    """Key of the id in each; with an s, the argument that asks for some."""
    alive: Callable[[Mapping[str, Any]], bool] = lambda _found: True
    """Whether one that is told of is still there."""
    narrow: Callable[[Call], dict[str, Any]] = lambda call: {"Filters": by_name(call)}
    """Arguments that ask for what a killed creation may have left, and perhaps more."""

    def one(self, call: Call, id: str = "") -> dict[str, Any] | None:
        """The one of that id, without one the call's; None when it is not there."""
        ask = partial(getattr(call.ec2, self.operation), **{f"{self.key}s": [id or call.id]})
        answer = absent_is_none(ask) or {}
        return next(filter(self.alive, answer.get(self.answer) or []), None)

    def left(self, call: Call) -> list[str]:
        """Ids of what a killed creation left."""
        found = getattr(call.ec2, self.operation)(**self.narrow(call))[self.answer]
        return same_tags(call, filter(self.alive, found), self.key)


def arn(call: Call, kind: str, owner: str, id: str) -> str:
    """An EC2 resource's ARN."""
    return f"arn:aws:ec2:{call.region}:{owner}:{kind}/{id}"
