"""Requests to a real API server that kubectl would send, without kubectl: it takes a tenth of a second of processor to
start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract.kubernetes.connection import ApiError, Object
from lab.providers.kubernetes_client import ApiResource, NoMatchError, ObjectClient
from lab.providers.kubernetes_config import load_access

KINDS = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""Media type of the list of all kinds (kubernetes.io, "The Kubernetes API", aggregated discovery)."""
OURS = {"fieldManager": "kubectl", "fieldValidation": "Strict"}
"""Parameters of each change. kubectl, too, has unknown fields refused."""
DRY = {"dryRun": "All"}
NAMESPACES = ("--namespace", "-n")


class Requests:
    """Requests of one user."""

    def __init__(self, kubeconfig: Path) -> None:
        self._client = ObjectClient(load_access(str(kubeconfig)))
        self._kinds: dict[str, tuple[str, str, ApiResource]] = {}

    def get(self, *words: str) -> Object:
        """Return what ``kubectl get … --output=json`` prints: an object, or a list. Raise :class:`ApiError` where
        kubectl would fail."""
        what, name, options = _parsed(words)
        api_version, kind, resource = self._kind(what)
        namespace = None if "--all-namespaces" in options else options.get("--namespace", self._client.namespace)
        typed = {"apiVersion": api_version, "kind": kind}
        if name:
            return _shown({**typed, **self._client.send("GET", resource.path(namespace, name))}, options)
        query = {"labelSelector": options["--selector"]} if "--selector" in options else {}
        items = self._client.send("GET", resource.path(namespace), query=query).get("items") or []
        return {"apiVersion": "v1", "kind": "List", "items": [_shown({**typed, **item}, options) for item in items]}

    def create(self, item: Object, *, namespace: str = "", dry: bool = False) -> Object:
        """Make an object and return it; raise :class:`ApiError` when it is refused. ``dry``: without an effect."""
        resource = self._client.resource(item["apiVersion"], item["kind"])
        where = namespace or item["metadata"].get("namespace") or self._client.namespace
        return self._client.send("POST", resource.path(where), query={**OURS, **(DRY if dry else {})}, body=item)

    def makes(self, item: Object, *, namespace: str = "", dry: bool = False) -> Any:
        """Make an object, as :meth:`create` does; return it, or the refusal as kubectl prints it."""
        try:
            return self.create(item, namespace=namespace, dry=dry)
        except ApiError as error:
            return refusal(error)

    def patch(self, what: str, change: Any, *, namespace: str, kind: str = "merge", dry: bool = False) -> Object:
        """Change ``<kind>/<name>`` by a patch of a kind (``merge``, ``strategic``, ``json``) and return it; raise
        :class:`ApiError` when it is refused."""
        of_kind, _, name = what.partition("/")
        _, _, resource = self._kind(of_kind)
        type_ = {"json": "json-patch", "merge": "merge-patch", "strategic": "strategic-merge-patch"}[kind]
        return self._client.send(
            "PATCH",
            resource.path(namespace, name),
            query={**OURS, **(DRY if dry else {})},
            body=change,
            content_type=f"application/{type_}+json",
        )

    def may(self, verb: str, what: str, *, namespace: str = "") -> bool:
        """Return what ``kubectl auth can-i`` answers. ``what`` is ``<kind>[/<name>]``, with a subresource
        ``<kind>:<subresource>[/<name>]``."""
        written, _, name = what.partition("/")
        kind, _, subresource = written.partition(":")
        _, _, resource = self._kind(kind)
        group = resource.base.split("/")[2] if resource.base.startswith("/apis/") else ""
        attributes = {"verb": verb, "group": group, "resource": resource.plural, "subresource": subresource}
        attributes |= {"name": name, "namespace": namespace if resource.namespaced else ""}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        return bool(
            self.create({**review, "metadata": {}, "spec": {"resourceAttributes": attributes}})["status"]["allowed"]
        )

    def _kind(self, name: str) -> tuple[str, str, ApiResource]:
        """Return API version, kind and place of a kind by one of its names, as people write it for kubectl."""
        if name not in self._kinds:
            # A new definition may have made it since.
            self._kinds = dict(self._served())
        if name not in self._kinds:
            raise NoMatchError(f'the server has no resource type "{name}"', status=404, reason="NotFound")
        return self._kinds[name]

    def _served(self) -> Iterator[tuple[str, tuple[str, str, ApiResource]]]:
        """Yield the kinds by name. Of several with one name the first group's counts, so it comes last."""
        groups = [
            group for path in ("/api", "/apis") for group in self._client.send("GET", path, accept=KINDS)["items"]
        ]
        for group in reversed(groups):
            group_name = group.get("metadata", {}).get("name", "")
            for version in reversed(group["versions"]):
                api_version = f"{group_name}/{version['version']}" if group_name else version["version"]
                base = f"/apis/{api_version}" if group_name else f"/api/{api_version}"
                for entry in version.get("resources") or []:
                    plural, kind = entry["resource"], entry["responseKind"]["kind"]
                    place = ApiResource(base=base, plural=plural, namespaced=entry["scope"] == "Namespaced")
                    names = [plural, entry.get("singularResource") or kind.lower(), *(entry.get("shortNames") or ())]
                    for name in names:
                        for written in (name, f"{name}.{group_name}") if group_name else (name,):
                            yield written, (api_version, kind, place)


def refusal(error: ApiError) -> str:
    """Return a refusal as kubectl prints it."""
    return f"Error from server ({error.reason}): {error}"


def _parsed(words: tuple[str, ...]) -> tuple[str, str, dict[str, str]]:
    """Return kind, name and options of the words of a ``kubectl get``."""
    plain, options, left = [], {}, list(words)
    while left:
        word = left.pop(0)
        option, equals, value = word.partition("=")
        if not word.startswith("-"):
            plain.append(word)
        elif option in NAMESPACES:
            options["--namespace"] = value if equals else left.pop(0)
        else:
            assert option in ("--selector", "--all-namespaces", "--show-managed-fields"), word
            options[option] = value
    what, _, name = plain[0].partition("/")
    return what, name or "".join(plain[1:]), options


def _shown(item: Object, options: dict[str, str]) -> Object:
    """Return an object as kubectl shows it."""
    if "--show-managed-fields" not in options:
        item["metadata"].pop("managedFields", None)
    return item
