# ruff: noqa: N802, ARG002 - the methods and their arguments are the protocol's
"""gRPC service of the kubernetes stand-in: after pulumi-kubernetes, ``provider/pkg/provider/provider.go``."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from contract.annotations import FIELD_MANAGER
from contract.kubernetes.connection import ApiError, CancelledError
from lab.providers import kubernetes_apply as apply
from lab.providers.base import BaseProvider, init_failed, type_of
from lab.providers.kubernetes_await import ObjectNotReadyError, await_deleted, await_ready, require_ready, timeout_of
from lab.providers.kubernetes_client import NoMatchError, ObjectClient
from lab.providers.kubernetes_config import ConfigError, load_access
from lab.providers.kubernetes_diff import changes, forced_paths
from lab.providers.kubernetes_objects import (
    AUTONAMED,
    Object,
    annotation,
    checkpoint,
    checkpointed,
    from_properties,
    id_parts,
    metadata,
    normalized,
    object_id,
    pruned,
    with_secrets,
    with_unshown,
)
from lab.providers.kubernetes_settings import KubernetesSettings, read_settings, replacing
from lab.providers.protocol import log_to_engine
from lab.providers.values import from_struct, holds_unknown, plain, to_struct

GONE = provider_pb2.ReadResponse(id="")
KIND = provider_pb2.PropertyDiff.Kind


class KubernetesProvider(BaseProvider):
    """Handles objects of any kind that the API server has; previews work without a server too."""

    def __init__(self, *, engine: str | None) -> None:
        super().__init__(package="kubernetes", distribution="pulumi-kubernetes", engine=engine)
        self._settings = KubernetesSettings()
        self._client: ObjectClient | None = None
        self._unreachable = "the provider is not configured"
        self._lock = threading.Lock()
        self._probed = False

    def DiffConfig(self, request: Any, context: Any) -> Any:
        olds, news = plain(from_struct(request.olds)), plain(from_struct(request.news))
        changed = sorted(key for key in olds.keys() | news.keys() if olds.get(key) != news.get(key))
        some = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=some, diffs=changed, replaces=replacing(olds, news))

    def Configure(self, request: Any, context: Any) -> Any:
        """Read the configuration. Accept an unusable kubeconfig for now, because a preview works without the
        cluster."""
        try:
            self._settings = read_settings(request.variables)
        except ValueError as problem:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(problem))
        chosen = self._settings
        try:
            access = load_access(
                chosen.kubeconfig, context=chosen.context, cluster=chosen.cluster, namespace=chosen.namespace
            )
            self._client = ObjectClient(access)
        except (ConfigError, OSError) as problem:
            self._unreachable = str(problem)
        return super().Configure(request, context)

    def Cancel(self, request: Any, context: Any) -> Any:
        if self._client is not None:
            self._client.cancel()
        return empty_pb2.Empty()

    def Check(self, request: Any, context: Any) -> Any:
        """Give an object a name, and the default namespace if its kind needs a namespace, where the program left them
        out."""
        inputs, old = from_struct(request.news), from_struct(request.olds)
        if type_of(request.urn).endswith(("Patch", "List")) or not inputs.get("kind"):
            message = f"{type_of(request.urn)}: the lab's kubernetes plugin knows plain objects alone"
            context.abort(grpc.StatusCode.UNIMPLEMENTED, message)
        meta = dict(metadata(inputs))
        if meta.get("generateName"):
            message = "the `.metadata.generateName` field is not supported in Server-Side Apply mode"
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, message)
        if not meta.get("name"):
            meta |= _own_name(request, old, meta)
        if not meta.get("namespace") and (namespace := self._namespace(inputs, old)):
            meta["namespace"] = namespace
        return provider_pb2.CheckResponse(inputs=to_struct(with_secrets({**inputs, "metadata": meta}, inputs)))

    def Diff(self, request: Any, context: Any) -> Any:
        """Compare the wanted object with the last known live object, in the parts that the inputs specify."""
        old_inputs, live = checkpointed(from_struct(request.olds))
        wanted = normalized(from_properties(from_struct(request.news)))
        known = normalized(old_inputs)
        before = with_unshown(pruned(live, known), known, live)
        if metadata(wanted).get("name"):
            before.setdefault("metadata", {})["name"] = metadata(live).get("name")
        forced = forced_paths(
            wanted, mutable_maps=self._settings.mutable_maps, mutable_secrets=self._settings.mutable_secrets
        )
        ignored = tuple(request.ignoreChanges)
        differences = [
            change
            for change in changes(before, wanted, forced=forced)
            if not change.path.startswith(ignored or ("\0",))
        ]
        response = provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if differences else provider_pb2.DiffResponse.DIFF_NONE,
            replaces=[change.path for change in differences if change.replaces],
            hasDetailedDiff=True,
        )
        for difference in differences:
            number = KIND.Value(
                f"{difference.kind.upper()}_REPLACE" if difference.replaces else difference.kind.upper()
            )
            response.detailedDiff[difference.path].CopyFrom(provider_pb2.PropertyDiff(kind=number))
        same = object_id(live) == object_id(wanted) and annotation(wanted, AUTONAMED) != "true"
        response.deleteBeforeReplace = bool(response.replaces) and same
        return response

    def Create(self, request: Any, context: Any) -> Any:
        """POST, or apply when the provider may take over an existing object; then wait until the object is ready."""
        given = from_struct(request.properties)
        inputs = from_properties(given)
        if request.preview and (holds_unknown(given) or not self._has(inputs)):
            return provider_pb2.CreateResponse(properties=request.properties)
        manager = annotation(inputs, FIELD_MANAGER) or f"pulumi-kubernetes-{_digest(request.urn.encode())}"
        with self._client_errors(context, f"{_called(inputs)} was not created") as client:
            try:
                live = apply.create(client, inputs, settings=self._settings, manager=manager, preview=request.preview)
            except ApiError as problem:
                if request.preview and problem.status in (403, 404, 409):
                    return provider_pb2.CreateResponse(properties=request.properties)
                raise
            if request.preview:
                live.pop("status", None)
                return provider_pb2.CreateResponse(properties=self._kept(inputs, live, given, manager))
            live = self._ready(inputs, live, given, manager, request.timeout, context)
        return provider_pb2.CreateResponse(id=object_id(live), properties=self._kept(inputs, live, given, manager))

    def Update(self, request: Any, context: Any) -> Any:
        """Apply, then wait until the object is ready."""
        given, state = from_struct(request.news), from_struct(request.olds)
        inputs = normalized(from_properties(given))
        if request.preview and (holds_unknown(given) or not self._has(inputs)):
            return provider_pb2.UpdateResponse(properties=request.news)
        manager = annotation(inputs, FIELD_MANAGER) or str(state.get("__fieldManager"))
        _, old = checkpointed(state)
        with self._client_errors(context, f"{_called(inputs)} was not updated") as client:
            live = apply.update(client, inputs, old, settings=self._settings, manager=manager, preview=request.preview)
            if not request.preview:
                live = self._ready(inputs, live, given, manager, request.timeout, context)
        return provider_pb2.UpdateResponse(properties=self._kept(inputs, live, given, manager))

    def Read(self, request: Any, context: Any) -> Any:
        """Read an object for refresh and import; return an empty id when the object is gone."""
        given, state = from_struct(request.inputs), from_struct(request.properties)
        inputs = normalized(from_properties(given)) if given else {}
        api_version, kind = _group_version_kind(type_of(request.urn))
        if self._reachable() is None and self._settings.delete_unreachable:
            return GONE
        if self._reachable() is None and self._settings.skip_unreachable:
            return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
        manager = str(state.get("__fieldManager") or annotation(inputs, FIELD_MANAGER) or "pulumi-kubernetes")
        with self._client_errors(context, f"{kind} {request.id} cannot be read") as client:
            namespace, name = id_parts(request.id)
            try:
                live = client.get(api_version, kind, namespace=namespace, name=name)
            except NoMatchError:
                live = None
            if live is None:
                return GONE
            imported = {key: value for key, value in live.items() if key != "status"}
            _, before = checkpointed(state)
            observed = with_unshown(pruned(live, inputs), inputs, before) if inputs else normalized(imported)
            outputs, known = checkpoint(observed, live, given, field_manager=manager), with_secrets(observed, given)
            try:
                if inputs:
                    require_ready(client, inputs, live)
            except ObjectNotReadyError as problem:
                why, details = str(problem), problem.reasons
                init_failed(context, id=request.id, outputs=outputs, inputs=known, reason=why, details=details)
        return provider_pb2.ReadResponse(id=request.id, properties=to_struct(outputs), inputs=to_struct(known))

    def Delete(self, request: Any, context: Any) -> Any:
        """DELETE, and wait until the object's finalizers are done and it is gone."""
        inputs, live = checkpointed(from_struct(request.properties))
        if self._reachable() is None and self._settings.delete_unreachable:
            return empty_pb2.Empty()
        with self._client_errors(context, f"{_called(live)} was not deleted") as client:
            try:
                if apply.delete(client, live, inputs):
                    await_deleted(client, live, timeout_s=timeout_of(request.timeout, inputs))
            except ObjectNotReadyError as problem:
                context.abort(grpc.StatusCode.UNKNOWN, f"{problem}: {'; '.join(problem.reasons)}")
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the lab's kubernetes does not have the function {request.tok}")

    def _ready(self, inputs: Object, live: Object, given: Object, manager: str, timeout: float, context: Any) -> Object:
        client = self._reachable()
        try:
            return await_ready(client, inputs, live, timeout_s=timeout_of(timeout, inputs)) if client else live
        except ObjectNotReadyError as problem:
            outputs = checkpoint(inputs, problem.live, given, field_manager=manager)
            why, details = str(problem), problem.reasons
            init_failed(context, id=object_id(live), outputs=outputs, inputs=given, reason=why, details=details)

    def _kept(self, inputs: Object, live: Object, given: Object, manager: str) -> Any:
        return to_struct(checkpoint(inputs, live, given, field_manager=manager))

    @contextmanager
    def _client_errors(self, context: Any, what: str) -> Iterator[ObjectClient]:
        """Yield the client; report its errors in one line."""
        client = self._reachable()
        if client is None:
            message = f"{what}: configured Kubernetes cluster is unreachable: {self._unreachable}"
            context.abort(grpc.StatusCode.UNAVAILABLE, message)
            raise AssertionError("abort raises")
        try:
            yield client
        except NoMatchError as problem:
            context.abort(grpc.StatusCode.UNKNOWN, f"{what}: {problem}. Is its definition made before it?")
        except (ApiError, CancelledError, ValueError) as problem:
            context.abort(grpc.StatusCode.UNKNOWN, f"{what}: {problem}")

    def _reachable(self) -> ObjectClient | None:
        """Return the client if the API server answered the first request; None otherwise. Send that request only
        once."""
        with self._lock:
            if not self._probed:
                self._probed = True
                try:
                    if self._client is not None:
                        self._client.resource("v1", "Namespace")
                except (ApiError, CancelledError) as problem:
                    self._unreachable, self._client = str(problem), None
                    log_to_engine(self.engine, urn="", message=f"the cluster is not looked at: {problem}")
            return self._client

    def _has(self, obj: Object) -> bool:
        """Return whether the cluster is reachable and has the object's kind."""
        client = self._reachable()
        try:
            return client is not None and bool(client.resource(str(obj["apiVersion"]), str(obj["kind"])))
        except NoMatchError:
            return False

    def _namespace(self, inputs: Object, old: Object) -> str:
        """Return the namespace of an object that names none: the default namespace if the kind needs one, else empty.
        Without a cluster, return the namespace that the object had."""
        client = self._reachable()
        if client is None:
            return str(metadata(old).get("namespace") or "")
        try:
            resource = client.resource(str(inputs.get("apiVersion")), str(inputs.get("kind")))
        except NoMatchError:
            return client.namespace
        return client.namespace if resource.namespaced else ""


def _own_name(request: Any, old: Object, meta: Object) -> Object:
    """Return the name of the engine's autonaming: the resource's name and eight hexadecimal digits, kept once given."""
    kept = annotation(old, AUTONAMED) == "true" and metadata(old).get("name")
    name = kept or f"{request.urn.rpartition('::')[2]}-{_digest(request.randomSeed + request.urn.encode())}"
    return {"name": name, "annotations": {**(meta.get("annotations") or {}), AUTONAMED: "true"}}


def _group_version_kind(type: str) -> tuple[str, str]:
    """Return ``apiVersion`` and ``kind`` of a type such as ``kubernetes:core/v1:ConfigMap``."""
    _, version, kind = type.split(":")
    return version.removeprefix("core/"), kind


def _called(obj: Object) -> str:
    return f"{obj.get('kind', 'object')} {object_id(obj)}"


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:8]
