"""Checks a resource's inputs against the types of its Pulumi SDK: names, nesting, kinds, choices, required properties.

The SDKs are generated from the providers' schemas; those of Azure and Kubernetes are generated from the published
specifications. mypy checks the program against these types as well. It does not see what an Output holds, nor a text
where the type names choices but accepts any text.
"""

from __future__ import annotations

import enum
import inspect
import json
import sys
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

import pulumi
from pulumi import _types

from tests.contracts.faults import Fault
from tests.support.declared import Declared

PROVIDERS = "pulumi:providers:"

OPEN = {("HardwareProfileArgs", "vmSize"): "The enum data type is currently deprecated"}
"""Properties whose choices are incomplete, with the words in which the SDK itself says so. The model checks machine
types: it knows the clouds' names for them."""

NEWER = {("securityType", "Standard")}
"""Properties with values that a cloud takes and the SDK's enumeration has not yet: the security type is of
azure-compute-docs, "Trusted Launch FAQ", with the feature ``UseStandardSecurityType``."""


@cache
def arguments(type_: str) -> type:
    """Return the class of a resource type's arguments; ``LookupError`` when the SDK has no such resource."""
    if type_.startswith(PROVIDERS):
        sdk = import_module(f"pulumi_{type_.removeprefix(PROVIDERS)}")
        return _input_type(sdk.ProviderArgs)
    package, module, name = type_.split(":")
    # `ec2/vpc`, `network`, `apps/v1`, `rbac.authorization.k8s.io/v1`
    group, _, rest = module.partition("/")
    path = f"{group.partition('.')[0]}.{rest}" if package == "kubernetes" else group
    try:
        resource = getattr(import_module(f"pulumi_{package.replace('-', '_')}.{path}"), name)
    except (ModuleNotFoundError, AttributeError) as problem:
        raise LookupError(f"the SDK has no resource {type_}") from problem
    # Where a nested type has the resource's name, the class of the resource's arguments has another name.
    defined = vars(sys.modules[resource.__module__])
    return _input_type(defined.get(f"{name}InitArgs") or defined[f"{name}Args"])


def _input_type(found: Any) -> type:
    if not (isinstance(found, type) and _types.is_input_type(found)):
        raise TypeError(f"{found} is no type of arguments")
    return found


@cache
def properties(of: type) -> Mapping[str, Any]:
    """Return the types of properties by the names that the engine gets."""
    return _types.input_type_types(of)


@cache
def required(of: type) -> frozenset[str]:
    """Return the properties that may not be left out."""
    wire = _types.input_type_py_to_pulumi_names(of)
    parameters = inspect.signature(of).parameters.values()
    return frozenset(wire[one.name] for one in parameters if one.default is inspect.Parameter.empty)


def documentation(of: type, name: str) -> str:
    """Return what the SDK says about a property, on one line."""
    python = {wire: name for name, wire in _types.input_type_py_to_pulumi_names(of).items()}
    return " ".join((inspect.getdoc(vars(of)[python[name]]) or "").split())


def visit(of: type, value: Mapping[str, Any], at: str = "") -> Iterator[tuple[type, str, Any, str]]:
    """Yield each property of ``value`` and of what is nested in it: the type that has it, its name, its value, its
    path."""
    for name, item in value.items():
        path = f"{at}.{name}" if at else name
        yield of, name, item, path
        types = [one for one in _nested(properties(of).get(name)) if _types.is_input_type(one)]
        for inner, place in _objects(item, path):
            for one in types[:1]:
                yield from visit(one, inner, place)


def check(resource: Declared) -> Iterator[Fault]:
    """Yield everything about ``resource`` that its SDK's types do not allow."""
    about = f"{resource.type} {resource.name}"
    given = {name: item for name, item in resource.inputs.items() if not name.startswith("__")}
    if resource.type.startswith(PROVIDERS):
        given = {name: _opened(item) for name, item in given.items() if name != "version"}
    for at, value, allowed in _object(given, arguments(resource.type), ""):
        yield Fault(resource=about, at=at, value=value, allowed=allowed, source="the SDK's types")


Finding = tuple[str, Any, str]


def _object(value: Mapping[str, Any], of: type, at: str) -> Iterator[Finding]:
    known = properties(of)
    for name in sorted(required(of) - value.keys()):
        yield f"{at}{name}", None, f"{of.__name__} requires it"
    for name, item in value.items():
        if name not in known:
            yield f"{at}{name}", item, f"{of.__name__} has no such property, only {', '.join(sorted(known))}"
        elif (of.__name__, name) not in OPEN:
            yield from _value(item, known[name], f"{at}{name}")


def _value(value: Any, expected: Any, at: str) -> Iterator[Finding]:
    allowed = list(_alternatives(expected))
    if any(one is Any or get_origin(one) is pulumi.Output for one in allowed):
        return
    if isinstance(value, dict):
        yield from _mapping(value, allowed, at)
    elif isinstance(value, list):
        items = [one for one in allowed if get_origin(one) in (Sequence, list)]
        if not items:
            yield at, value, f"not a list but {_words(allowed)}"
        for index, item in enumerate(value if items else ()):
            yield from _value(item, get_args(items[0])[0], f"{at}[{index}]")
    elif (at.rpartition(".")[2], value) not in NEWER:
        yield from _single(value, allowed, at)


def _mapping(value: dict[str, Any], allowed: list[Any], at: str) -> Iterator[Finding]:
    objects = [one for one in allowed if isinstance(one, type) and _types.is_input_type(one)]
    maps = [one for one in allowed if get_origin(one) in (Mapping, dict)]
    if objects:
        yield from _object(value, objects[0], f"{at}.")
    elif maps:
        for key, item in value.items():
            yield from _value(item, get_args(maps[0])[1], f"{at}.{key}")
    else:
        yield at, value, f"not an object but {_words(allowed)}"


def _single(value: Any, allowed: list[Any], at: str) -> Iterator[Finding]:
    choices = [choice for one in allowed for choice in _choices(one)]
    # The engine has only one kind of number.
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        (isinstance(value, str) and str in allowed)
        or (isinstance(value, bool) and bool in allowed)
        or (number and (float in allowed or (int in allowed and value == int(value))))
    )
    if choices and value not in choices:
        yield at, value, f"one of {', '.join(map(repr, choices))}"
    elif not choices and not fits:
        yield at, value, _words(allowed)


def _alternatives(expected: Any) -> Iterator[Any]:
    """Yield the alternatives of a type, without the wrappers for values that come later."""
    origin = get_origin(expected)
    if origin is Awaitable or origin is pulumi.Output or expected is type(None):
        return
    if origin is not None and origin not in (Sequence, list, Mapping, dict, Literal):
        for one in get_args(expected):
            yield from _alternatives(one)
    else:
        yield expected


def _nested(expected: Any) -> Iterator[type]:
    for one in _alternatives(expected):
        if isinstance(one, type):
            yield one
        else:
            yield from (inner for part in get_args(one) for inner in _nested(part))


def _objects(value: Any, at: str) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(value, dict):
        yield value, at
    for index, item in enumerate(value if isinstance(value, list) else ()):
        yield from _objects(item, f"{at}[{index}]")


def _choices(one: Any) -> Iterator[Any]:
    if get_origin(one) is Literal:
        yield from get_args(one)
    elif isinstance(one, type) and issubclass(one, enum.Enum):
        yield from (member.value for member in one)


def _words(allowed: list[Any]) -> str:
    return "it takes " + " or ".join(sorted(getattr(one, "__name__", str(one)) for one in allowed))


def _opened(value: Any) -> Any:
    """Return the value of a provider's setting: settings are texts, and one that is not a text by its type is JSON."""
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value
