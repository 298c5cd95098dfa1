"""The depot on a port: permanently (:func:`serve`), or on loopback while something is made with it (:func:`served`)."""

from __future__ import annotations

import asyncio
import logging
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger

from longhaul.artifacts.http_app import depot_app

_LINGER_S = 10.0
"""Seconds that running answers may take after the server was asked to stop."""


@dataclass(frozen=True, kw_only=True)
class Listen:
    """Address and TLS settings to serve at."""

    host: str
    port: int
    """Port number; 0 for any free port."""
    tls: ssl.SSLContext | None = None


async def serve(root: Path, listen: Listen, *, say: Callable[[str], None]) -> None:
    """Serve the depot in ``root`` until SIGINT or SIGTERM, then finish running answers. Write a line for each request.

    Raise OSError when the port cannot be used.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    runner = web.AppRunner(depot_app(root), access_log=_logger(say), access_log_class=_Line, shutdown_timeout=_LINGER_S)
    try:
        address = await _listen(runner, listen)
        say(f"serving {root} at {address}")
        await stop.wait()
        say("stopping: answers under way are finished")
    finally:
        await runner.cleanup()


class _Line(AbstractAccessLogger):
    """Logs one line for each request: client, request, status and size."""

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        asked = f"{request.remote} {request.method} {request.raw_path}"
        size = "" if response.content_length is None else f" {response.content_length} bytes"
        self.logger.info(f"{asked}: {response.status}{size} in {time:.3f} s")


def _logger(say: Callable[[str], None]) -> logging.Logger:
    class RequestLog(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(record.getMessage())

    # A separate logger, which nothing else configures.
    logger = logging.Logger("depot", level=logging.INFO)
    logger.addHandler(RequestLog())
    return logger


@contextmanager
def served(root: Path, *, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve the depot in ``root`` at 127.0.0.1 during the block, and yield its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    runner = web.AppRunner(depot_app(root))
    listen = Listen(host="127.0.0.1", port=0, tls=tls)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(_listen(runner, listen), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(runner: web.AppRunner, listen: Listen) -> str:
    await runner.setup()
    site = web.TCPSite(runner, listen.host, listen.port, ssl_context=listen.tls)
    await site.start()
    host, port = runner.addresses[0][:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if listen.tls else 'http'}://{shown}:{port}"
