"""The controller's API server with a test's objects, and the objects of a watch."""

from __future__ import annotations

from typing import Any

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from tests.images import kubelets

NODE = "i-0123456789abcdef0"


class FakeApi(Api):
    """Objects by path. Writes are recorded, and conditions are merged as by the API server."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.written: list[tuple[str, str, dict[str, Any]]] = []
        self.refuse = 0

    def _request(self, method: str, path: str, *, query: Any = None, body: Any = None, **more: Any) -> dict[str, Any]:
        if self.refuse:
            raise ApiError(f"{method} {path}: {self.refuse}", status=self.refuse)
        if method != "GET":
            self.written.append((method, path, body))
            return dict(body)
        if path not in self.objects:
            raise ApiError(f"{path} not found", status=404)
        return self.objects[path]

    def said(self, part: str) -> list[dict[str, Any]]:
        return [body for _, path, body in self.written if part in path]


class Held:
    """Objects that a watch holds."""

    def __init__(self) -> None:
        self.documents: list[dict[str, Any]] = []

    def by_name(self) -> dict[str, Any]:
        return {each["metadata"]["name"]: each for each in self.documents}

    def find(self, name: str) -> dict[str, Any] | None:
        return self.by_name().get(name)


def joining(node: str = NODE) -> dict[str, Any]:
    return kubelets.by_proof(kubelets.document(kubelets.csr(node, kubelets.key())), node)


def renewing() -> dict[str, Any]:
    return kubelets.by_node(kubelets.document(kubelets.csr(NODE, kubelets.key())), NODE)
