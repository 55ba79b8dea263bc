"""What the fakes share: an aiohttp server on a free loopback port, whose handlers may hang, drip or drop."""

import asyncio
from typing import NoReturn, Self

from aiohttp import web

MAX_REQUEST_BYTES = 16 * 1024 * 1024


class LoopbackServer:
    """Start and stop as an async context manager; `url` has no trailing slash."""

    def __init__(self) -> None:
        self.app = web.Application(client_max_size=MAX_REQUEST_BYTES)
        # A hanging handler ends with its client, or with the server.
        self._runner = web.AppRunner(self.app, shutdown_timeout=0.01, handler_cancellation=True)
        self.url = ""

    async def start(self, port: int = 0) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


async def hang() -> NoReturn:
    """Until the client goes away or the server stops."""
    await asyncio.Event().wait()
    raise AssertionError


async def drop(request: web.Request) -> NoReturn:
    """Reset the connection."""
    assert request.transport is not None
    request.transport.abort()
    await hang()


def serve(server: LoopbackServer, port: int) -> None:
    """Run in a process of its own; prints the URL as soon as requests are answered."""

    async def run() -> None:
        await server.start(port)
        print(server.url, flush=True)
        await hang()

    asyncio.run(run())
