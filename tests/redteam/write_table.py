"""Two tables of what may be written in a team's namespace: who, by which verb, of which kind, in which field. They are
made from the API servers' own description of their kinds, by requests that have no effect (``dryRun``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError

SCALARS = {"string": "attack", "integer": 7, "number": 7, "boolean": True}
DEPTH = 2
"""Number of levels below ``spec`` and ``metadata`` whose fields are tried one by one."""
REFUSED = 403
DRY = {"dryRun": "All"}
WRITTEN = ("managedFields", "resourceVersion", "generation")
EXAMPLES = {
    "containers": [{"name": "a", "image": "a:1", "resources": {"requests": {"cpu": "0"}}}],
    "dnsPolicy": "Default",
    "envFrom": [{"secretRef": {"name": "attack"}}],
    "finalizers": ["example.com/attack"],
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["kubernetes.default.svc"]}],
    "initContainers": [{"name": "i", "image": "a:1", "restartPolicy": "Always"}],
    "limits": {"cpu": "1"},
    "managedBy": "example.com/attack",
    "overhead": {"cpu": "1"},
    "priorityClassName": "system-node-critical",
    "requests": {"cpu": "1"},
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "sysctls": [{"name": "kernel.msgmax", "value": "1"}],
    "tolerations": [{"operator": "Exists"}],
    "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
}
"""Values of fields whose schema says too little of what is valid, or that have a more interesting one."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of object, and one that exists."""

    version: str
    resource: str
    schema: str
    """Name of its schema."""
    name: str
    label: str
    """Name of the object in the table."""
    subresources: tuple[str, ...] = ()
    changes: Sequence[dict[str, Any]] = ()
    """Changes that are tried on this kind alone."""

    def path(self, namespace: str, subresource: str = "") -> str:
        """Return the path of the object, or of one of its subresources."""
        root = "/api/v1" if self.version == "v1" else f"/apis/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.resource}/{self.name}{subresource and f'/{subresource}'}"


@dataclass(frozen=True, kw_only=True)
class NewObject:
    """An object that a team's people may make, and the parts of it whose fields are tried."""

    version: str
    resource: str
    schema: str
    """Name of its schema."""
    label: str
    item: dict[str, Any]
    parts: Mapping[str, int]
    """Paths of parts, and the number of levels below each whose fields are tried."""
    changes: Sequence[dict[str, Any]] = ()
    """Changes that are tried on this object alone."""

    def path(self, namespace: str) -> str:
        """Return the path at which it is made."""
        root = "/api/v1" if self.version == "v1" else f"/apis/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.resource}"


@dataclass
class Schemas:
    """The API servers' description of their kinds (OpenAPI v3), read as it is needed."""

    admin: Api
    _documents: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, version: str, name: str) -> Mapping[str, Any]:
        """Return the schema of a kind."""
        return self._components(version)[name]

    def _components(self, version: str) -> Mapping[str, Any]:
        if version not in self._documents:
            group = "api/v1" if version == "v1" else f"apis/{version}"
            self._documents[version] = self.admin.get(f"/openapi/v3/{group}")["components"]["schemas"]
        return self._documents[version]

    def resolve(self, version: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a schema without the references at its top."""
        while True:
            reference = schema.get("$ref") or next((one.get("$ref") for one in schema.get("allOf", ())), None)
            if not reference:
                return schema
            schema = self._components(version)[reference.rpartition("/")[2]]

    def example(self, version: str, schema: Mapping[str, Any], *, deep: int = 0) -> Any:
        """Return a value of a schema, with its required fields."""
        schema = self.resolve(version, schema)
        if enum := schema.get("enum"):
            return enum[-1]
        kind = schema.get("type", "object")
        if kind in SCALARS:
            return SCALARS[kind]
        if kind == "array":
            return [self.example(version, schema.get("items", {}), deep=deep + 1)]
        if isinstance(more := schema.get("additionalProperties"), Mapping):
            return {"attack": self.example(version, more, deep=deep + 1)}
        names = schema.get("required", ())
        return {name: self.example(version, schema["properties"][name], deep=deep + 1) for name in names}

    def below(self, version: str, schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Return the schema of a part of an object; a number in ``path`` is an item of a list."""
        for name in path.split("."):
            schema = self.resolve(version, schema)
            schema = schema["items"] if name.isdigit() else schema["properties"][name]
        return schema

    def fields(self, version: str, schema: Mapping[str, Any], *, deep: int = DEPTH) -> Iterator[tuple[str, Any]]:
        """Yield each field of a schema by its path, with a value for it."""
        for name, one in self.resolve(version, schema).get("properties", {}).items():
            yield name, self.example(version, one)
            if deep > 1 and "properties" in self.resolve(version, one):
                for below, value in self.fields(version, one, deep=deep - 1):
                    yield f"{name}.{below}", value


@dataclass(frozen=True, kw_only=True)
class Row:
    """One request and its answer."""

    who: str
    what: str
    """Verb, what the object is, subresource and field."""
    status: int
    """Status of the answer; 200 if the object would be another one."""


def table(
    people: Mapping[str, Api], kinds: list[Kind], schemas: Schemas, *, namespace: str, changes: list[dict[str, Any]]
) -> list[Row]:
    """Return the answers to all requests: each field of each kind, and ``changes`` of each kind."""
    return [
        row
        for who, api in people.items()
        for kind in kinds
        for what, status in _answers(api, kind, schemas, namespace, changes)
        for row in [Row(who=who, what=what, status=status)]
    ]


def _answers(
    api: Api, kind: Kind, schemas: Schemas, namespace: str, changes: list[dict[str, Any]]
) -> Iterator[tuple[str, int]]:
    path = kind.path(namespace)
    for policy in ("", "Background", "Foreground", "Orphan"):
        query = DRY | ({"propagationPolicy": policy} if policy else {})
        yield (
            f"delete {kind.label} {policy}".rstrip(),
            _status(lambda query=query: api.send("DELETE", path, query=query)),
        )
    for subresource in ("", *kind.subresources):
        to, what = kind.path(namespace, subresource), f"patch {kind.label}{subresource and f'/{subresource}'}"
        allowed = _status(lambda to=to: _patch(api, to, {}))
        if allowed == REFUSED:
            # Whoever may write nothing of it needs no further questions.
            yield what, allowed
            continue
        schema = schemas.of(kind.version, kind.schema)
        before = _content(schemas.admin.get(to))
        for part in ("metadata", "spec", "status"):
            for name, value in schemas.fields(kind.version, schema.get("properties", {}).get(part, {})):
                change = _nested(f"{part}.{name}", value)
                yield f"{what} {part}.{name}", _status(lambda to=to, change=change: _patch(api, to, change), before)
        for change in (*changes, *kind.changes):
            yield f"{what} {json.dumps(change)}", _status(lambda to=to, change=change: _patch(api, to, change), before)


def creations(
    people: Mapping[str, Api],
    objects: list[NewObject],
    schemas: Schemas,
    *,
    namespace: str,
    changes: list[dict[str, Any]],
) -> Iterator[str]:
    """Yield who may make which object with which field, and whether the API servers keep or change that. What is
    refused is left out, and so are values that are wrong."""
    for who, api in people.items():
        for new in objects:
            send = partial(_create, api, new.path(namespace))
            if _status(lambda send=send, new=new: send(new.item)) == REFUSED:
                # Whoever may make none needs no further questions.
                continue
            for what, item, check in _variants(new, schemas, changes):
                try:
                    answer = send(item)
                except ApiError as error:
                    print(f"{who} {new.label} {what}: {error.status} {str(error)[:300]}")
                    continue
                kept = _contains(_at(answer, check), _at(item, check))
                yield f"{who} | {new.label} with {what}: {'kept' if kept else 'changed'}"


def _variants(
    new: NewObject, schemas: Schemas, changes: list[dict[str, Any]]
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield objects with one field more each: the field, the object, and the path at which to look for it."""
    schema = schemas.of(new.version, new.schema)
    for part, deep in new.parts.items():
        for name, value in schemas.fields(new.version, schemas.below(new.version, schema, part), deep=deep):
            item, where = deepcopy(new.item), f"{part}.{name}"
            target, last = _at(item, where.rpartition(".")[0], make=True), where.rpartition(".")[2]
            target[last] = EXAMPLES.get(last, value)
            yield where, item, where
    for change in (*changes, *new.changes):
        part = next(iter(change))
        yield json.dumps(change), _merged(new.item, change), part


def _create(api: Api, path: str, item: dict[str, Any]) -> Any:
    return api.send("POST", path, body=item, query=DRY)


def _at(item: Any, path: str, *, make: bool = False) -> Any:
    for name in path.split("."):
        if isinstance(item, list):
            item = item[int(name)]
            continue
        item = item.setdefault(name, {}) if make else item.get(name)
        if item is None:
            return None
    return item


def _merged(item: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    merged = dict(item)
    for key, value in change.items():
        merged[key] = _merged(item.get(key) or {}, value) if isinstance(value, dict) else value
    return merged


def _contains(answer: Any, sent: Any) -> bool:
    """Return whether an answer has everything that was sent, besides defaults."""
    if isinstance(sent, dict):
        return isinstance(answer, dict) and all(_contains(answer.get(key), value) for key, value in sent.items())
    if isinstance(sent, list) and isinstance(answer, list):
        return len(answer) >= len(sent) and all(map(_contains, answer, sent))
    return bool(answer == sent) or sent is None


def _patch(api: Api, path: str, change: dict[str, Any]) -> Any:
    return api.send("PATCH", path, body=change, query=DRY, content_type="application/merge-patch+json")


def _status(send: Callable[[], Any], before: object = None) -> int:
    """Return the status of an answer; 304 if the object would stay as it is."""
    try:
        answer = send()
    except ApiError as error:
        return error.status or 0
    return 304 if before is not None and _content(answer) == before else 200


def _content(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an object says, without what each write changes."""
    kept = {key: value for key, value in item["metadata"].items() if key not in WRITTEN}
    return {**item, "metadata": kept}


def _nested(path: str, value: Any) -> dict[str, Any]:
    name, _, rest = path.partition(".")
    return {name: _nested(rest, value) if rest else value}
