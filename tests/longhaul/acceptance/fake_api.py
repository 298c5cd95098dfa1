"""A cluster's API in memory, with the parts that checks use: lists, the end of a namespace, and pods that call each
other."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from tests.longhaul.acceptance.stand_ins import Time

Object = dict[str, Any]
NODES = "/api/v1/nodes"
UNKNOWN = "no address"
"""Answer of a dial that finds no address for a name."""


class FakeApi(Api):
    """Objects by the path of their list. An unknown path or selector is an error."""

    def __init__(self, time: Time) -> None:
        """``changed`` is called whenever a check waits for a change; a test may move the world on in it."""
        self.time = time
        self.lists: dict[str, list[Object]] = {NODES: [], "/api/v1/namespaces": []}
        self.posted: list[tuple[str, Object]] = []
        self.on_post: Callable[[str, Object], None] = lambda path, body: None
        self.changed: Callable[[], None] = lambda: None
        self.dials: Callable[[str, str, str], str] = _nobody_answers
        """Function that returns a host's answer, by the calling pod, the host and the request."""
        self._number = itertools.count(1)

    def node(self, name: str, *, site: str, pool: str, version: str = "v1.2.3", ready: bool = True) -> Object:
        labels = {"longhaul.dev/site": site, "longhaul.dev/pool": pool}
        conditions = [{"type": "Ready", "status": "True" if ready else "False", "message": "no network"}]
        status = {"conditions": conditions, "nodeInfo": {"kubeletVersion": version}, "allocatable": {}}
        item: Object = {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status}
        self.lists[NODES].append(item)
        return item

    def get(self, path: str, **query: str) -> Object:
        if path == "/version":
            return {"gitVersion": "v1.2.3"}
        if path.endswith("/proxy/dial"):
            pod = path.split("/pods/")[1].partition("%3A")[0]
            said = self.dials(pod, query["host"], query["request"])
            if said == UNKNOWN:
                raise ApiError("400 Bad Request", status=400)
            return {"responses": [said]} if said else {"errors": ["timeout"]}
        if path not in self.lists:
            raise ApiError(f"{path} not found", status=404)
        found = [item for item in self.lists[path] if _fits(item, query)]
        return copy.deepcopy({"metadata": {"resourceVersion": "1"}, "items": found})

    def find(self, path: str) -> Object | None:
        parent, _, name = path.rpartition("/")
        return next((copy.deepcopy(item) for item in self.lists[parent] if item["metadata"]["name"] == name), None)

    def items(self, path: str, **query: str) -> Iterator[Object]:
        yield from self.get(path, **query)["items"]

    def post(self, path: str, body: Object) -> Object:
        item = copy.deepcopy(body)
        item["metadata"]["uid"] = f"uid-{next(self._number)}"
        item.setdefault("status", {})
        self.lists.setdefault(path, []).append(item)
        self.posted.append((path, item))
        self.on_post(path, item)
        return copy.deepcopy(item)

    def delete(self, path: str, *, uid: str) -> None:
        parent, _, name = path.rpartition("/")
        self.lists[parent] = [item for item in self.lists[parent] if item["metadata"]["uid"] != uid]
        if parent == "/api/v1/namespaces":
            self.lists = {key: one for key, one in self.lists.items() if not key.startswith(f"{parent}/{name}/")}

    def await_change(self, path: str, *, version: str, limit_s: float, **query: str) -> None:
        assert version == "1"
        self.time.wait(limit_s)
        self.changed()


def _nobody_answers(pod: str, host: str, request: str) -> str:
    raise AssertionError(f"{pod} was not to call {host} for {request}")


def _fits(item: Object, query: Mapping[str, str]) -> bool:
    known = {"fieldSelector", "labelSelector", "limit"}
    assert query.keys() <= known, query
    field, _, name = query.get("fieldSelector", "metadata.name=").partition("=")
    assert field == "metadata.name", query
    key, _, value = query.get("labelSelector", "").partition("=")
    labels = item["metadata"].get("labels", {})
    return name in ("", item["metadata"]["name"]) and (not key or labels.get(key) == value)
