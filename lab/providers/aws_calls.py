"""Classes for the tables of AWS resource types: a resource type, and one call for one resource."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from clouds.aws.session import AwsSession

T = TypeVar("T")
POLL_S = 0.2
"""Seconds between two looks at an operation in progress."""
PATIENCE_S = 900.0
"""Longest wait for an operation in progress, seconds, unless the resource type or `custom_timeouts` sets another limit.
The real plugin waits 5 to 20 minutes."""


class AwsRefusedError(Exception):
    """Raised for a change that this plugin cannot make, or that took too long."""


@dataclass(kw_only=True)
class Call:
    """One call for one resource."""

    clients: AwsSession
    region: str
    inputs: dict[str, Any]
    """Inputs as plain values, without secret markers."""
    old: dict[str, Any] = field(default_factory=dict)
    """The inputs before an update; the outputs when a resource is read or deleted."""
    id: str = ""
    cancelled: threading.Event = field(default_factory=threading.Event)
    patience_s: float = PATIENCE_S
    """Longest wait of this call for an operation in progress, seconds."""
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Client token: EC2 treats a repeated request with the same token as the same request."""

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
        """Tags that the resource should have."""
        return {str(key): str(value) for key, value in (self.inputs.get("tags") or {}).items()}

    def changed(self, *names: str) -> bool:
        """Return whether an update changes any of these inputs."""
        return any(self.inputs.get(name) != self.old.get(name) for name in names)

    def until(self, condition: Callable[[], T | None], what: str) -> T:
        """Wait until a condition holds, and return its value.

        Raises:
            AwsRefusedError: the engine asked to stop, or the wait took too long.
        """
        deadline = time.monotonic() + self.patience_s
        while True:
            answer = condition()
            if answer:
                return answer
            if self.cancelled.wait(POLL_S):
                raise AwsRefusedError(f"the engine asked to stop while waiting for {what}")
            if time.monotonic() > deadline:
                raise AwsRefusedError(f"{what} took longer than {self.patience_s:.0f} s")

    def retried(self, codes: Iterable[str], action: Callable[[], Any], what: str) -> None:
        """Repeat an action that AWS refuses with one of ``codes`` while other resources depend on this one."""
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
class AwsResourceType:
    """One resource type of the SDK."""

    type: str
    """Type as in a URN, ``aws:ec2/vpc:Vpc``."""
    inputs: str
    """Names of all inputs that this plugin knows, separated by blanks; any other input is an error. ``region`` is also
    known, unless the service has no regions."""
    forced: str = ""
    """Inputs whose change replaces the resource (``ForceNew`` in terraform-provider-aws)."""
    create: Callable[[Call], str]
    """Creates the resource, and returns its id."""
    look: Callable[[Call], dict[str, Any] | None]
    """Returns the resource with :attr:`Call.id` as AWS describes it; None when it does not exist."""
    outputs: Callable[[Call, dict[str, Any]], dict[str, Any]]
    """Returns the resource's outputs, except EC2's tags."""
    delete: Callable[[Call], None]
    delete_s: float = PATIENCE_S
    """Seconds that the resource's deletion may take, without a `custom_timeouts`."""
    update: Callable[[Call], None] | None = None
    find: Callable[[Call], Iterable[str]] | None = None
    """Returns ids of resources that a killed creation may have left."""
    secrets: str = ""
    """Names of outputs that the real plugin marks as secret."""
    volatile: str = ""
    """Names of outputs that an update changes."""
    tagged: bool = False
    """True when the resource has EC2's tags, which are changed separately."""
    global_: bool = False
    """True when the type's service has no regions."""

    def read(self, call: Call) -> dict[str, Any] | None:
        """Return the outputs of the resource with :attr:`Call.id`; None when it does not exist."""
        described = self.look(call)
        if described is None:
            return None
        return self.outputs(call, described) | (tag_outputs(described) if self.tagged else {})

    @property
    def known(self) -> frozenset[str]:
        extra = {"region"} if not self.global_ else set()
        return frozenset({*self.inputs.split(), *extra, *({"tags"} if self.tagged else set())})

    @property
    def forcing(self) -> frozenset[str]:
        return frozenset({*self.forced.split(), *(() if self.global_ else ("region",))})


def code_of(problem: BaseException) -> str:
    """Return AWS's code of an error; empty for other errors."""
    response = getattr(problem, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def missing(problem: BaseException) -> bool:
    """Return whether an error says that a resource does not exist."""
    code = code_of(problem)
    return "NotFound" in code or code == "NoSuchEntity"


def absent_is_none(read: Callable[[], T]) -> T | None:
    """Return the result of ``read``; None when AWS says that the resource does not exist."""
    try:
        return read()
    except Exception as problem:
        if missing(problem):
            return None
        raise


def deletes(operation: str, key: str, *, busy: Iterable[str] = ()) -> Callable[[Call], None]:
    """Return a function that deletes an EC2 resource by its id, and accepts that the resource is gone already. ``busy``
    has the error codes of AWS while other resources depend on the resource; the function then repeats the deletion."""

    def delete(call: Call) -> None:
        action = partial(getattr(call.ec2, operation), **{key: call.id})
        call.retried(busy, partial(gone_is_fine, action), f"deleting {call.id}")

    return delete


def gone_is_fine(delete: Callable[[], Any]) -> None:
    """Call a deletion, and accept that the resource is gone already."""
    try:
        delete()
    except Exception as problem:
        if not missing(problem):
            raise


def given(call: Call, **names: str) -> dict[str, Any]:
    """Return arguments of the API for the inputs that have a value; ``names`` maps arguments to inputs."""
    return {key: call.inputs[name] for key, name in names.items() if call.inputs.get(name)}


def specification(kind: str, call: Call) -> list[dict[str, Any]]:
    """Return tags in the form that EC2 takes at creation."""
    if not call.tags:
        return []
    return [{"ResourceType": kind, "Tags": tag_list(call.tags)}]


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags in the API's form, a list."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def mapped(tags: Iterable[Mapping[str, str]] | None) -> dict[str, str]:
    """Return tags as a map, without the tags that AWS itself sets."""
    return {tag["Key"]: tag["Value"] for tag in tags or [] if not tag["Key"].startswith("aws:")}


def tag_outputs(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs that every tagged resource has."""
    tags = mapped(described.get("Tags") or described.get("TagSet"))
    return {"tags": tags, "tagsAll": tags}


def same_tags(call: Call, described: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    """Return the ids of the resources that have exactly the requested tags. Tags always hold a unique ``Name``."""
    if not call.tags.get("Name"):
        return []
    return [str(item[key]) for item in described if mapped(item.get("Tags")) == call.tags]


def by_name(call: Call) -> list[dict[str, Any]]:
    """Return a filter for the tag ``Name``."""
    return [{"Name": "tag:Name", "Values": [call.tags.get("Name", "")]}]


@dataclass(frozen=True, kw_only=True)
class Described:
    """Operation with which EC2 describes the resources of one type."""

    operation: str
    answer: str
    """Key of the list in the operation's answer."""
    key: str
    """Key of the id in each item. The key plus "s" is the argument that selects items by id."""
    alive: Callable[[Mapping[str, Any]], bool] = lambda _resource: True
    """Returns whether a described resource still exists."""
    narrow: Callable[[Call], dict[str, Any]] = lambda call: {"Filters": by_name(call)}
    """Returns arguments that select all resources that a killed creation may have left; they may select others too."""

    def find(self, call: Call, id: str = "") -> dict[str, Any] | None:
        """Return the resource with this id, by default the call's; None when it does not exist."""
        ask = partial(getattr(call.ec2, self.operation), **{f"{self.key}s": [id or call.id]})
        answer = absent_is_none(ask) or {}
        return next(filter(self.alive, answer.get(self.answer) or []), None)

    def left(self, call: Call) -> list[str]:
        """Return the ids of resources that a killed creation left."""
        items = getattr(call.ec2, self.operation)(**self.narrow(call))[self.answer]
        return same_tags(call, filter(self.alive, items), self.key)


def arn(call: Call, kind: str, owner: str, id: str) -> str:
    """Return the ARN of an EC2 resource."""
    return f"arn:aws:ec2:{call.region}:{owner}:{kind}/{id}"
