"""The kubelet's side of device plugins: accepts registrations, and asks plugins what they offer.

The API is k8s.io/kubelet's, ``pkg/apis/deviceplugin/v1beta1/api.proto``, without the parts that are not used here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "v1beta1"
COUNT = "count"
MESSAGES: dict[str, dict[str, tuple[int, str | None]]] = {
    "Empty": {},
    "RegisterRequest": {"version": (1, None), "endpoint": (2, None), "resource_name": (3, None)},
    "Device": {"ID": (1, None), "health": (2, None)},
    "ListAndWatchResponse": {"devices": (1, "Device")},
    "ContainerPreferredAllocationRequest": {"available_deviceIDs": (1, ""), "allocation_size": (3, COUNT)},
    "PreferredAllocationRequest": {"container_requests": (1, "ContainerPreferredAllocationRequest")},
    "ContainerPreferredAllocationResponse": {"deviceIDs": (1, "")},
    "PreferredAllocationResponse": {"container_responses": (1, "ContainerPreferredAllocationResponse")},
    "ContainerAllocateRequest": {"devices_ids": (1, "")},
    "AllocateRequest": {"container_requests": (1, "ContainerAllocateRequest")},
    "Env": {"key": (1, None), "value": (2, None)},
    "CDIDevice": {"name": (1, None)},
    "ContainerAllocateResponse": {"envs": (1, "Env"), "cdi_devices": (5, "CDIDevice")},
    "AllocateResponse": {"container_responses": (1, "ContainerAllocateResponse")},
}
"""Number and kind of each field. Kinds: ``None`` for a text, empty for a list of texts, :data:`COUNT` for a number,
else the message of which the field is a list."""
PATIENCE_S = 30.0


def messages() -> dict[str, Any]:
    """Return the messages' classes by name."""
    file = descriptor_pb2.FileDescriptorProto(name="device_plugin.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        made = file.message_type.add(name=name)
        for field, (number, of) in fields.items():
            label = "LABEL_OPTIONAL" if of in (None, COUNT) else "LABEL_REPEATED"
            added = made.field.add(name=field, number=number, label=label)
            if of in MESSAGES:
                added.type_name = f".{PACKAGE}.{of}"
            else:
                added.type = added.TYPE_INT32 if of == COUNT else added.TYPE_STRING
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in MESSAGES}


class Plugin:
    """A plugin that has registered."""

    def __init__(self, socket: Path, *, resource: str, kinds: dict[str, Any]) -> None:
        self.resource = resource
        self._kinds = kinds
        self._channel = grpc.insecure_channel(f"unix:{socket}")
        self._changed = threading.Condition()
        self._health: dict[str, str] = {}
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def _call(self, kind: str, name: str, request: str, response: str) -> Any:
        make = getattr(self._channel, kind)
        return make(
            f"/{PACKAGE}.DevicePlugin/{name}",
            request_serializer=self._kinds[request].SerializeToString,
            response_deserializer=self._kinds[response].FromString,
        )

    def _watch(self) -> None:
        ask = self._call("unary_stream", "ListAndWatch", "Empty", "ListAndWatchResponse")
        # The stream ends with the plugin, or with the channel.
        with suppress(grpc.RpcError, ValueError):
            for answer in ask(self._kinds["Empty"](), timeout=None):
                with self._changed:
                    self._health = {device.ID: device.health for device in answer.devices}
                    self._changed.notify_all()

    def health(self, until: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """Wait for a state of health, and return the health by device."""
        assert self.becomes(until), self._health
        return dict(self._health)

    def becomes(self, until: Callable[[dict[str, str]], bool], *, within_s: float = PATIENCE_S) -> bool:
        """Return whether health by device reaches a state in time."""
        with self._changed:
            return self._changed.wait_for(lambda: until(self._health), timeout=within_s)

    def preferred(self, *devices: str, count: int) -> set[str]:
        """Return the devices that the plugin prefers for a container that asks for ``count`` of these."""
        request = self._kinds["PreferredAllocationRequest"]()
        request.container_requests.add(available_deviceIDs=devices, allocation_size=count)
        ask = self._call(
            "unary_unary", "GetPreferredAllocation", "PreferredAllocationRequest", "PreferredAllocationResponse"
        )
        (container,) = ask(request, timeout=PATIENCE_S).container_responses
        return set(container.deviceIDs)

    def allocate(self, *devices: str) -> tuple[list[str], dict[str, str]]:
        """Return what a container with these devices is given: names of CDI devices, and environment variables."""
        request = self._kinds["AllocateRequest"]()
        request.container_requests.add(devices_ids=devices)
        answer = self._call("unary_unary", "Allocate", "AllocateRequest", "AllocateResponse")(
            request, timeout=PATIENCE_S
        )
        (container,) = answer.container_responses
        return [one.name for one in container.cdi_devices], {one.key: one.value for one in container.envs}

    def close(self) -> None:
        self._channel.close()
        self._watching.join()


class PluginSocket:
    """The kubelet's socket in the folder of device plugins, from :meth:`start` to :meth:`stop`."""

    def __init__(self, folder: Path) -> None:
        # By its descriptor: a socket's path has at most 107 characters, and the path of a test's folder may be longer.
        self._open = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        self._folder = Path(f"/proc/self/fd/{self._open}")
        self._kinds = messages()
        self._came: SimpleQueue[Plugin] = SimpleQueue()
        self._server = grpc.server(ThreadPoolExecutor(max_workers=2))
        register = grpc.unary_unary_rpc_method_handler(
            self._register,
            request_deserializer=self._kinds["RegisterRequest"].FromString,
            response_serializer=self._kinds["Empty"].SerializeToString,
        )
        handler = grpc.method_handlers_generic_handler(f"{PACKAGE}.Registration", {"Register": register})
        self._server.add_generic_rpc_handlers((handler,))

    def _register(self, request: Any, context: grpc.ServicerContext) -> Any:
        if request.version != PACKAGE:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"version {request.version}")
        socket = self._folder / request.endpoint
        self._came.put(Plugin(socket, resource=request.resource_name, kinds=self._kinds))
        return self._kinds["Empty"]()

    def start(self) -> None:
        self._server.add_insecure_port(f"unix:{self._folder / 'kubelet.sock'}")
        self._server.start()

    def registered(self) -> Plugin:
        """Return the next plugin that registers."""
        return self._came.get(timeout=PATIENCE_S)

    def stop(self) -> None:
        self._server.stop(grace=None).wait()
        (self._folder / "kubelet.sock").unlink(missing_ok=True)
        for plugin in self._rest():
            plugin.close()
        os.close(self._open)

    def _rest(self) -> Iterator[Plugin]:
        while not self._came.empty():
            yield self._came.get()
