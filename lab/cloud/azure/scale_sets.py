"""Scale sets: launches, updates, reimages, evicts and deletes their instances, in background tasks.

learn.microsoft.com/rest/api/compute/virtual-machine-scale-sets and …/virtual-machine-scale-set-vms. Instances carry the
id of their operation, so that the operation continues after a restart of the daemon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import Field, ValidationError

from lab.cloud.azure import deletion, quota_and_capacity_errors
from lab.cloud.azure.errors import ArmError, invalid, unsupported
from lab.cloud.azure.machines import STOP_TIMEOUT_S, MachineChanges, provisioning_error
from lab.cloud.azure.operations import Operations
from lab.cloud.azure.scheduled_events import PREEMPT_S, ScheduledEvents
from lab.cloud.azure.schema.base import BodyPart, TypeSpec
from lab.cloud.azure.schema.occupancy import free
from lab.cloud.azure.schema.scale_set_instance import (
    INSTANCE,
    INTERFACE,
    TYPE,
    TYPES,
    applied,
    group_of,
    instances,
    interface_id,
    is_protected,
    leaving,
    model,
    new,
    next_zone,
    present,
)
from lab.cloud.store import DocumentStore, ResourceDocument

EVERY = "*"
"""Stands for all instances in a list of ids."""


class Chosen(BodyPart):
    """The body of an action on instances."""

    instance_ids: list[str] | None = Field(default=None, min_length=1)


class ScaleSets:
    """Brings each scale set to its capacity, and its instances to their requested state."""

    def __init__(
        self, *, store: DocumentStore, machines: MachineChanges, operations: Operations, events: ScheduledEvents
    ) -> None:
        self._store = store
        self._machines = machines
        self._operations = operations
        self._events = events

    def written(self, group: ResourceDocument) -> str:
        """Start the operation of a set that was put, and return the operation's id. The operation ends when the set has
        its capacity."""
        operation = self._operations.start(resource_id=group.id)
        instances, wanted = present(self._store, group.id), group.body["sku"]["capacity"]
        with self._store.transaction():
            self._set(group.id, state="Updating" if "state" in group.hidden else "Creating")
            self._end(leaving(instances, len(instances) - wanted), operation)
            for addresses in self._addresses(group, wanted - len(instances)):
                instances.append(self._launch(group.id, operation, addresses, zone=next_zone(group, instances)))
        return self._follow(group.id, operation)

    def deleted(self, document: ResourceDocument, types: dict[str, TypeSpec]) -> str:
        """Start the deletion of a set or of one instance, and return the operation's id."""
        if document.type == INSTANCE:
            return self._delete(group_of(document), [document])
        operation = self._operations.start(resource_id=document.id)
        self._set(document.id, state="Deleting")
        self._machines.spawn(self._remove(document.id, operation, types))
        return operation

    async def removed(self, resource_group: ResourceDocument, types: dict[str, TypeSpec]) -> None:
        """Delete all sets of a resource group, and wait until they are gone."""
        for group in self._store.below(resource_group.id):
            if group.type == TYPE:
                operation = self._operations.start(resource_id=group.id)
                self._set(group.id, state="Deleting")
                await self._remove(group.id, operation, types)

    def act(self, document: ResourceDocument, action: str, body: Any) -> str | None:
        """Start an action on a set or on one instance, and return the operation's id; None when the action has no
        operation.

        Raises:
            ArmError: 400 for an action that the lab does not have, or for unknown instances; 409 for protected ones.
        """
        name = action.lower()
        if document.type == INSTANCE:
            if name == "simulateeviction":
                self._evict(document)
                return None
            return self._reimage(document.id, [document])
        if name == "delete":
            return self._delete(document.id, self._chosen(document, body, required=True))
        if name == "manualupgrade":
            return self._upgrade(document, _unprotected(self._chosen(document, body, required=True)))
        if name == "reimage":
            return self._reimage(document.id, _unprotected(self._chosen(document, body, required=False)))
        raise unsupported(f"The lab has no action '{action}' on scale sets.")

    def resume(self, types: dict[str, TypeSpec]) -> None:
        """Continue operations that a restart of the daemon interrupted."""
        for event_id, event in self._events.pending().items():
            if event["type"] == "Preempt":
                self._machines.spawn(self._preempt(event["machine"], event_id))
        for operation, record in self._operations.pending().items():
            document = self._store.get(record["resource"])
            if document is None or document.type not in TYPES:
                continue
            if document.hidden.get("state") == "Deleting" and document.type == TYPE:
                self._machines.spawn(self._remove(document.id, operation, types))
            else:
                self._follow(document.id, operation)

    def _addresses(self, group: ResourceDocument, count: int) -> list[list[str]]:
        """Return the addresses of each of ``count`` new instances."""
        if count <= 0:
            return []
        profile = group.body["properties"]["virtualMachineProfile"]["networkProfile"]
        wanted = profile["networkInterfaceConfigurations"][0]["properties"]["ipConfigurations"]
        subnet = self._known(wanted[0]["properties"]["subnet"]["id"])
        addresses = map(str, free(self._store, subnet, count * len(wanted)))
        return [list(islice(addresses, len(wanted))) for _ in range(count)]

    def _launch(self, group_id: str, operation: str, addresses: list[str], *, zone: str) -> ResourceDocument:
        group = self._known(group_id)
        body, hidden, interface = new(group, zone, addresses)
        instance = f"{group.id}/virtualMachines/{body['instanceId']}"
        error = quota_and_capacity_errors.not_allocated(
            self._store, body["sku"]["name"], room=self._machines.has_room()
        )
        if error:
            failed = {"state": "Failed", "power": "deallocated", "unallocated": True}
            hidden |= {**failed, "error": error.document()["error"], "failedAt": hidden["timeCreated"]}
        self._store.put(instance, type=INSTANCE, body=body, hidden={**hidden, "operation": operation})
        self._store.put(interface_id(instance), type=INTERFACE, body=interface)
        self._set(group.id, next=group.hidden["next"] + 1)
        return self._known(instance)

    def _delete(self, group_id: str, chosen: Sequence[ResourceDocument]) -> str:
        """Delete instances, and lower the set's capacity by their number."""
        operation = self._operations.start(resource_id=group_id)
        group, here = self._known(group_id), [instance for instance in chosen if not instance.hidden.get("deleting")]
        sku = {**group.body["sku"], "capacity": group.body["sku"]["capacity"] - len(here)}
        with self._store.transaction():
            hidden = {**group.hidden, "writes": group.hidden["writes"] + 1}
            self._store.put(group.id, type=TYPE, body={**group.body, "sku": sku}, hidden=hidden)
            self._end(chosen, operation)
        return self._follow(group_id, operation)

    def _end(self, chosen: Sequence[ResourceDocument], operation: str) -> None:
        for instance in chosen:
            notice_s = instance.hidden.get("terminateNoticeS")
            if notice_s and not instance.hidden.get("deleting") and not instance.hidden.get("unallocated"):
                event = self._events.schedule(instance, "Terminate", notice_s)
                self._set(instance.id, state="Deleting", deleting=True, awaits=event, operation=operation)
            elif not instance.hidden.get("awaits"):
                self._set(instance.id, state="Deleting", power="deallocated", deleting=True, operation=operation)

    def _upgrade(self, group: ResourceDocument, chosen: Sequence[ResourceDocument]) -> str:
        """Give instances the set's model. Their system disks stay until they are reimaged."""
        operation = self._operations.start(resource_id=group.id)
        with self._store.transaction():
            for instance in chosen:
                name = instance.body["properties"]["osProfile"]["computerName"]
                newest = model(group, instance=instance.id, computer_name=name)
                kept = {k: v for k, v in instance.body["properties"].items() if k == "protectionPolicy"}
                body = {**instance.body, **newest, "properties": {**newest["properties"], **kept}}
                self._store.put(instance.id, type=INSTANCE, body=body)
                self._set(instance.id, state="Updating", operation=operation, **applied(group))
        return self._follow(group.id, operation)

    def _reimage(self, resource_id: str, chosen: Sequence[ResourceDocument]) -> str:
        """Give instances fresh system disks of their present model, not of the set's newest one (REST reference,
        "Virtual Machine Scale Sets - Reimage": without an exact version the existing one is used). The instances keep
        their names, numbers, addresses and ``vmId``."""
        operation = self._operations.start(resource_id=resource_id)
        with self._store.transaction():
            for instance in chosen:
                fresh = {**instance.hidden["fresh"], "generation": f"{instance.hidden['vmId']}-{operation}"}
                self._set(instance.id, state="Updating", power="running", operation=operation, **fresh)
        return self._follow(resource_id, operation)

    def _evict(self, instance: ResourceDocument) -> None:
        """Take a Spot instance back according to its set's eviction policy (learn.microsoft.com/rest/api/compute/
        virtual-machine-scale-set-vms/simulate-eviction). Azure does so within 30 minutes, the lab right after the
        notice."""
        group = self._known(group_of(instance))
        profile = group.body["properties"]["virtualMachineProfile"]
        if profile["priority"] != "Spot":
            raise ArmError(409, "OperationNotAllowed", f"{instance.body['name']} is not an Azure Spot machine.")
        event = self._events.schedule(instance, "Preempt", PREEMPT_S)
        self._machines.spawn(self._preempt(instance.id, event))

    async def _preempt(self, instance: str, event: str) -> None:
        await self._events.started(event)
        document = self._store.get(instance)
        if document and not document.hidden.get("deleting"):
            group = self._known(group_of(document))
            if group.body["properties"]["virtualMachineProfile"].get("evictionPolicy", "Deallocate") == "Delete":
                operation = self._delete(group.id, [document])
            else:
                operation = self._machines.power(document, "deallocated")
            await self._operations.wait(operation, timeout_s=STOP_TIMEOUT_S)
        self._events.finish(event)

    def _chosen(self, group: ResourceDocument, body: Any, *, required: bool) -> list[ResourceDocument]:
        try:
            ids = Chosen.model_validate(body or {}).instance_ids
        except ValidationError as problem:
            raise invalid(f"{group.name}: {problem.errors(include_url=False, include_input=False)}") from problem
        if ids is None and required:
            raise invalid("Required parameter 'instanceIds' is missing (null).", target="instanceIds")
        by_number = {instance.body["instanceId"]: instance for instance in instances(self._store, group.id)}
        if ids is None or EVERY in ids:
            return list(by_number.values())
        unknown = [id_ for id_ in ids if id_ not in by_number]
        if unknown:
            text = f"The provided instanceId {unknown[0]} is not an active Virtual Machine Scale Set VM instanceId."
            raise invalid(text, target="instanceIds")
        return [by_number[id_] for id_ in dict.fromkeys(ids)]

    def _follow(self, resource_id: str, operation: str) -> str:
        self._machines.spawn(self._finish(resource_id, operation))
        return operation

    async def _finish(self, resource_id: str, operation: str) -> None:
        """Wait for an operation's instances, then end it."""
        document = self._known(resource_id)
        group_id = document.id if document.type == TYPE else group_of(document)
        mine = [
            instance for instance in instances(self._store, group_id) if instance.hidden.get("operation") == operation
        ]
        problems = [problem for problem in await asyncio.gather(*map(self._settle, mine)) if problem]
        group = self._store.get(group_id)
        others = [
            operation_id
            for operation_id, begun in self._operations.pending().items()
            if begun["resource"] == document.id
        ]
        if group and document.type == TYPE and group.hidden.get("state") != "Deleting" and others == [operation]:
            self._set(group_id, state="Failed" if problems else "Succeeded")
        if problems:
            self._operations.fail(operation, problems[0])
        else:
            self._operations.succeed(operation)

    async def _settle(self, instance: ResourceDocument) -> ArmError | None:
        """Wait until an instance has its desired state, or return the error that prevents that state."""
        if instance.hidden.get("deleting"):
            return await self._gone(instance)
        if instance.hidden.get("unallocated"):
            return _error(instance.hidden["error"])
        settled = await self._machines.reported(instance.id)
        now = self._store.get(instance.id)
        if now is None or now.hidden.get("deleting"):
            return ArmError(409, "OperationPreempted", "A later deletion took over.")
        if settled.reported or now.hidden["power"] != "running":
            self._set(instance.id, state="Succeeded", error=None)
            return None
        error = provisioning_error(now, settled)
        self._set(instance.id, state="Failed", error=error.document()["error"])
        return error

    async def _gone(self, instance: ResourceDocument) -> ArmError | None:
        event = instance.hidden.get("awaits")
        if event:
            await self._events.started(event)
            if self._store.get(instance.id):
                self._set(instance.id, power="deallocated", awaits=None)
        try:
            await self._machines.gone(instance.id)
        except TimeoutError as problem:
            return ArmError(409, "OperationNotAllowed", str(problem))
        with self._store.transaction():
            self._store.delete(interface_id(instance.id))
            self._store.delete(instance.id)
        if event:
            self._events.finish(event)
        return None

    async def _remove(self, group_id: str, operation: str, types: dict[str, TypeSpec]) -> None:
        with self._store.transaction():
            self._end(instances(self._store, group_id), operation)
        remaining = instances(self._store, group_id)
        problems = [problem for problem in await asyncio.gather(*map(self._settle, remaining)) if problem]
        group = self._store.get(group_id)
        if problems:
            self._operations.fail(operation, problems[0])
            return
        if group:
            deletion.remove(types, self._store, group)
        self._operations.succeed(operation)

    def _known(self, resource_id: str) -> ResourceDocument:
        document = self._store.get(resource_id)
        if document is None:
            raise LookupError(f"{resource_id} is gone")
        return document

    def _set(self, resource_id: str, **values: Any) -> None:
        document = self._known(resource_id)
        hidden = {key: value for key, value in {**document.hidden, **values}.items() if value is not None}
        self._store.put(document.id, type=document.type, body=document.body, hidden=hidden)


def _unprotected(chosen: list[ResourceDocument]) -> list[ResourceDocument]:
    """Return the instances; refuse when one of them is protected from actions on its set."""
    for instance in chosen:
        if is_protected(instance, "protectFromScaleSetActions"):
            raise ArmError(409, "OperationNotAllowed", f"{instance.body['name']} is protected from scale set actions.")
    return chosen


def _error(refusal: Mapping[str, str]) -> ArmError:
    return ArmError(409, refusal["code"], refusal["message"])
