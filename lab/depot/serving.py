"""The depot on a loopback port while something is made with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

from lab.depot.app import depot_app


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve the depot in ``root``; gives its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    runner = web.AppRunner(depot_app(root))
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(_listen(runner), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(runner: web.AppRunner) -> str:
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    return f"http://{host}:{port}"
