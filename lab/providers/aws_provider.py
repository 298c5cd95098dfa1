# ruff: noqa: N802, ARG002 - the methods and their arguments are the protocol's
"""gRPC service of the aws stand-in."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from clouds.aws.session import AwsSession
from lab.cloud.aws.hosts import GLOBAL_REGION
from lab.providers.aws_calls import AwsRefusedError, AwsResourceType, Call, tag_list
from lab.providers.aws_egress import egress_kinds
from lab.providers.aws_groups import group_kinds
from lab.providers.aws_iam import iam_kinds
from lab.providers.aws_lookups import known_lookups, look_up
from lab.providers.aws_peering import peering_kinds
from lab.providers.aws_routes import route_kinds
from lab.providers.aws_security import security_kinds
from lab.providers.aws_templates import template_kinds
from lab.providers.aws_vpc import network_kinds
from lab.providers.aws_vpn import vpn_kinds
from lab.providers.base import BaseProvider, init_failed, type_of
from lab.providers.protocol import log_to_engine
from lab.providers.shapes import changed_inputs
from lab.providers.values import from_struct, is_secret, keep_secrets, plain, preview_outputs, secret, to_struct

CREATE_VARIABLE = "LAB_AWS_CREATE"
"""Environment variable. With ``refuse``, a resource that a killed run left is not adopted, as with the real plugin.
Otherwise it is adopted, with a warning."""
READ_S = 60.0
"""Seconds that a busy lab may take to answer."""
UNSUPPORTED = frozenset(
    {"accessKey", "secretKey", "token", "assumeRoles", "assumeRole", "defaultTags", "endpoints", "profile"}
)


def known_kinds() -> Mapping[str, AwsResourceType]:
    """Return every type that can be made, by its name."""
    tables = (
        network_kinds(),
        route_kinds(),
        egress_kinds(),
        security_kinds(),
        vpn_kinds(),
        peering_kinds(),
        template_kinds(),
        group_kinds(),
        iam_kinds(),
    )
    return {kind.type: kind for table in tables for kind in table}


class AwsProvider(BaseProvider):
    """Creates, reads, updates and deletes the resources of :func:`known_kinds`; it can preview all others too."""

    def __init__(self, *, engine: str | None, clients: AwsSession | None = None) -> None:
        super().__init__(package="aws", distribution="pulumi-aws", engine=engine)
        self._clients = clients or AwsSession(read_s=READ_S)
        self._kinds = known_kinds()
        self._lookups = known_lookups()
        self._accounts: tuple[str, ...] = ()
        self._is_right_account = False
        self._region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or GLOBAL_REGION
        self._owned: set[str] = set()
        self._cancelled = threading.Event()

    def forced(self, type: str) -> frozenset[str]:
        """Return the inputs whose change makes terraform-provider-aws replace a resource."""
        kind = self._kinds.get(type)
        return kind.forcing if kind else frozenset()

    def compared(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Leave out empty lists: to Terraform's SDK, a list or set without members and none are the same
        (terraform-plugin-sdk, ``helper/schema/schema.go``, ``diffList`` and ``diffSet`` compare numbers)."""
        return {key: value for key, value in inputs.items() if plain(value) != []}

    def Configure(self, request: Any, context: Any) -> Any:
        given = {key.rpartition(":")[2]: value for key, value in request.variables.items()}
        refused = sorted(UNSUPPORTED & {key for key, value in given.items() if value not in ("", "[]", "{}")})
        if refused:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"the lab's aws plugin does not know the provider's {', '.join(refused)}: credentials come from the "
                "AWS_* variables",
            )
        self._region = given.get("region") or self._region
        self._accounts = tuple(json.loads(given.get("allowedAccountIds") or "[]"))
        return super().Configure(request, context)

    def Cancel(self, request: Any, context: Any) -> Any:
        self._cancelled.set()
        return empty_pb2.Empty()

    def Diff(self, request: Any, context: Any) -> Any:
        """Compare the inputs, and remember that the state has the resource, so that no creation adopts it as a
        leftover. A replacement can be made before its predecessor is deleted, unless both have the same name."""
        self._owned.add(f"{type_of(request.urn)}::{request.id}")
        response = super().Diff(request, context)
        old = plain(from_struct(request.old_inputs if request.HasField("old_inputs") else request.olds))
        new = plain(from_struct(request.news))
        named = old.get("name") is not None and old.get("name") == new.get("name")
        response.deleteBeforeReplace = bool(response.replaces) and named
        return response

    def Create(self, request: Any, context: Any) -> Any:
        """Create the resource, and read it back."""
        inputs = from_struct(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=to_struct(preview_outputs(inputs)))
        kind = self._kind(request.urn, context)
        call = self._call(kind, plain(inputs))
        try:
            self._check(kind, call.inputs)
            call.id = self._adopted(kind, call, request.urn) or kind.create(call)
            self._owned.add(f"{kind.type}::{call.id}")
            outputs = self._outputs(kind, call, inputs)
        except Exception as problem:  # noqa: BLE001 - AWS's SDK raises many kinds, and all are told to the engine
            if call.id:
                init_failed(context, id=call.id, outputs={}, inputs=inputs, reason=f"{call.id}: {problem}")
            context.abort(grpc.StatusCode.UNKNOWN, f"cannot create {kind.type}: {problem}")
        return provider_pb2.CreateResponse(id=call.id, properties=to_struct(outputs))

    def Update(self, request: Any, context: Any) -> Any:
        """Change the resource in place, and read it back."""
        inputs, old = from_struct(request.news), from_struct(request.olds)
        kind = self._kind(request.urn, context, preview=request.preview)
        if request.preview:
            stable = {key: value for key, value in old.items() if key not in (kind.volatile.split() if kind else ())}
            return provider_pb2.UpdateResponse(properties=to_struct({**stable, **preview_outputs(inputs)}))
        before = plain(from_struct(request.old_inputs) if request.HasField("old_inputs") else old)
        call = self._call(kind, plain(inputs), old=before, id=request.id)
        try:
            self._check(kind, call.inputs)
            self._change(kind, call)
            outputs = self._outputs(kind, call, inputs)
        except Exception as problem:  # noqa: BLE001 - as above
            context.abort(grpc.StatusCode.UNKNOWN, f"cannot update {request.id}: {problem}")
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    def Read(self, request: Any, context: Any) -> Any:
        """Read a resource for refresh; return an empty id when the resource is gone. Refuse import, which needs the
        inputs: AWS does not show inputs separately."""
        kind = self._kind(request.urn, context)
        inputs, before = from_struct(request.inputs), plain(from_struct(request.properties))
        if not inputs:
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"the lab's aws plugin cannot import {kind.type}: run `up` again, it adopts what it made",
            )
        call = self._call(kind, plain(inputs), old=before, id=request.id)
        try:
            described = kind.read(call)
        except Exception as problem:  # noqa: BLE001 - as above
            context.abort(grpc.StatusCode.UNKNOWN, f"cannot read {request.id}: {problem}")
        if described is None:
            return provider_pb2.ReadResponse(id="")
        now = {**{key: value for key, value in before.items() if key not in described}, **described}
        inputs = changed_inputs(inputs, before, now)
        properties = to_struct(self._marked(kind, now, inputs))
        return provider_pb2.ReadResponse(id=request.id, properties=properties, inputs=to_struct(inputs))

    def Delete(self, request: Any, context: Any) -> Any:
        """Delete the resource, and wait until it is gone."""
        kind = self._kind(request.urn, context)
        old = plain(from_struct(request.properties))
        call = self._call(kind, {}, old=old, id=request.id)
        call.patience_s = request.timeout or kind.delete_s
        try:
            kind.delete(call)
        except Exception as problem:  # noqa: BLE001 - as above
            context.abort(grpc.StatusCode.UNKNOWN, f"cannot delete {request.id}: {problem}")
        self._owned.discard(f"{kind.type}::{request.id}")
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:
        """Look up a resource."""
        lookup = self._lookups.get(request.tok)
        if lookup is None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the lab's aws does not have the function {request.tok}")
            raise AssertionError("abort raises")
        arguments = plain(from_struct(request.args))
        call = Call(clients=self._clients, region=arguments.get("region") or self._region, inputs=arguments)
        try:
            values = look_up(lookup, call, preview=request.preview)
        except Exception as problem:
            context.abort(grpc.StatusCode.UNKNOWN, f"{request.tok}: {problem}")
            raise AssertionError("abort raises") from problem
        response = provider_pb2.InvokeResponse()
        getattr(response, "return").CopyFrom(to_struct(values))  # a keyword of Python
        return response

    def _right_account(self, context: Any) -> None:
        """Refuse credentials of another account. The real plugin checks the account when it starts. The check here is
        at the first call of the cloud, because a preview needs no credentials."""
        if not self._accounts or self._is_right_account:
            return
        account = self._clients.client("sts", self._region).get_caller_identity()["Account"]
        if account not in self._accounts:
            text = f"AWS account ID not allowed: {account} is none of {', '.join(self._accounts)}"
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, text)
        self._is_right_account = True

    def _call(
        self, kind: AwsResourceType, inputs: dict[str, Any], *, old: dict[str, Any] | None = None, id: str = ""
    ) -> Call:
        region = inputs.get("region") or (old or {}).get("region") or self._region
        return Call(
            clients=self._clients,
            region=region,
            inputs=inputs,
            old=old or {},
            id=id,
            cancelled=self._cancelled,
        )

    def _check(self, kind: AwsResourceType, inputs: dict[str, Any]) -> None:
        unknown = {key for key in inputs if not key.startswith("__")} - kind.known
        if unknown:
            known = ", ".join(sorted(kind.known))
            raise AwsRefusedError(
                f"the lab's {kind.type} does not know {', '.join(sorted(unknown))}. It knows {known}."
            )

    def _adopted(self, kind: AwsResourceType, call: Call, urn: str) -> str:
        """Find a resource that a killed run made and that the state lacks. Change the resource to the wanted inputs,
        and return its id; empty when there is none."""
        if kind.find is None or os.environ.get(CREATE_VARIABLE) == "refuse":
            return ""
        matches = [id_ for id_ in kind.find(call) if f"{kind.type}::{id_}" not in self._owned]
        call.id = ""
        if not matches:
            return ""
        message = f"{matches[0]} exists already and is adopted. The real plugin would make another, or refuse."
        log_to_engine(self.engine, urn=urn, message=message)
        call.id = matches[0]
        self._change(kind, call)
        return call.id

    def _change(self, kind: AwsResourceType, call: Call) -> None:
        if kind.tagged and call.changed("tags"):
            gone = {str(key) for key in call.old.get("tags") or {}} - call.tags.keys()
            if gone:
                call.ec2.delete_tags(Resources=[call.id], Tags=[{"Key": key} for key in sorted(gone)])
            if call.tags:
                call.ec2.create_tags(Resources=[call.id], Tags=tag_list(call.tags))
        if kind.update is not None:
            kind.update(call)
            return
        changed = [name for name in kind.known - {"tags"} if call.old and call.changed(name)]
        if changed:
            text = f"the lab's aws plugin cannot change {', '.join(sorted(changed))} of {kind.type} in place"
            raise AwsRefusedError(f"{text}; replace it: pulumi up --replace URN")

    def _outputs(self, kind: AwsResourceType, call: Call, inputs: dict[str, Any]) -> dict[str, Any]:
        call.old = {**call.inputs}
        described = kind.read(call)
        if described is None:
            raise AwsRefusedError(f"{call.id} was made and is gone again: something deletes it")
        plain_inputs = {key: value for key, value in call.inputs.items() if not key.startswith("__")}
        region = {} if kind.global_ else {"region": call.region}
        return self._marked(kind, {**plain_inputs, **region, **described}, inputs)

    def _marked(self, kind: AwsResourceType, outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Mark the secrets in outputs: outputs with secret inputs, and outputs that are always secret."""
        kept = keep_secrets(outputs, inputs)
        always = set(kind.secrets.split())
        return {key: secret(value) if key in always and not is_secret(value) else value for key, value in kept.items()}

    def _kind(self, urn: str, context: Any, *, preview: bool = False) -> Any:
        type = type_of(urn)
        kind = self._kinds.get(type)
        if not preview:
            self._right_account(context)
        if kind is None and not preview:
            known = ", ".join(sorted(self._kinds))
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"the lab's AWS does not have {type}: it can be previewed, not made. The lab has {known}.",
            )
            raise AssertionError("abort raises")
        return kind
