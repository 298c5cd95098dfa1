"""Serves the Pulumi plugin protocol: the port on standard output, gRPC on loopback, until the engine ends."""

from __future__ import annotations

import importlib.util
import os
import select
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

WORKERS = 64
"""Largest number of concurrent calls. The real plugins have no limit; the engine's limit is four for each processor
(pulumi 3.250.0, `--parallel`)."""


def light_stubs() -> None:
    """Make ``pulumi.runtime.proto`` importable without running the whole SDK, which costs a second at every preview.

    Only for the plugin's own process: the packages ``pulumi`` and ``pulumi.runtime`` are empty afterwards.
    """
    if "pulumi" in sys.modules:
        return
    spec = importlib.util.find_spec("pulumi")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the Python package 'pulumi' is not installed beside the lab's plugins")
    root = spec.submodule_search_locations[0]
    for name, path in (("pulumi", root), ("pulumi.runtime", os.path.join(root, "runtime"))):
        module = types.ModuleType(name)
        module.__path__ = [path]
        sys.modules[name] = module


def serve(servicer: Any) -> None:
    """Serve until the engine that started this process ends."""
    import grpc
    from pulumi.runtime.proto import provider_pb2_grpc

    unlimited = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(max_workers=WORKERS), options=unlimited)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()


def log_to_engine(address: str | None, *, urn: str, message: str) -> None:
    """Show a warning on a resource in the engine's output; without an engine, on standard error."""
    if not address:
        sys.stderr.write(f"warning: {urn}: {message}\n")
        return
    import grpc
    from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

    with grpc.insecure_channel(address) as channel:
        request = engine_pb2.LogRequest(severity=engine_pb2.WARNING, message=message, urn=urn)
        engine_pb2_grpc.EngineStub(channel).Log(request, timeout=10)


def _leave_with(parent: int) -> None:
    """End this process when ``parent`` ends, because a killed engine does not end its plugins."""
    try:
        descriptor = os.pidfd_open(parent)
    except ProcessLookupError:
        os._exit(0)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    os._exit(0)
