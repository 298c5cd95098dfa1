"""Starts a plugin as a process, as the engine does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from pulumi.runtime.proto import provider_pb2_grpc


@contextmanager
def running(launcher: Path, environ: Mapping[str, str]) -> Iterator[Any]:
    """Run the plugin until the block ends; the block gets its methods."""
    process = subprocess.Popen([launcher], stdout=subprocess.PIPE, text=True, env=environ)
    assert process.stdout
    try:
        with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
            yield provider_pb2_grpc.ResourceProviderStub(channel)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
