"""A whole cloud on loopback: real sockets, real TLS, a hypervisor that makes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
import requests
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from requests.adapters import HTTPAdapter

from lab.cloud.app import SUBSCRIPTION, LabClouds
from lab.cloud.azure.ids import ASSIGNMENT_TYPE
from lab.cloud.azure.roles import OWNER
from lab.cloud.delays import Delays
from tests.lab.cloud.clock import TurnedClock
from tests.lab.cloud.fake import FakeHypervisor

T = TypeVar("T")
L = TypeVar("L", bound="Live")
REAL_LOOKUP = socket.getaddrinfo
IMAGE = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/i/providers/Microsoft.Compute/galleries/g/images/node/versions/1.0.0"
)
AMI = "ami-00000000000000001"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/lab"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net"


class Source(HTTPAdapter):
    """Connects from a given address, as a machine with that address would."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs, source_address=(self._address, 0))


class Live:
    """A cloud in a thread of its own, and methods that call it."""

    def __init__(
        self,
        state: Path,
        *,
        port: int = 0,
        regions: tuple[str, ...] = (),
        delays: Delays | None = None,
        request_limits: bool = False,
    ) -> None:
        if not state.exists():
            state.mkdir(mode=0o700, parents=True)
            (state / "token-signing.pem").write_bytes(_signing_key())
        self.state = state
        self.delays = delays
        self.request_limits = request_limits
        self.regions = regions
        self.hypervisor = FakeHypervisor()
        self.ports: dict[str, int] = {"internet": port}
        self._ready = threading.Event()
        self._token = ""
        self._session = requests.Session()
        self._session.trust_env = False  # the cloud is on loopback: no proxy, no password file
        self.start()

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ready.clear()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self._thread.start()
        while not self._ready.wait(1):
            assert self._thread.is_alive(), "the cloud did not start"

    def stop(self) -> None:
        """Stop the cloud as the daemon does at its orderly end."""
        self._session.close()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(300)

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self.cloud = LabClouds(
            state_dir=self.state,
            hypervisor=self.hypervisor,
            images={IMAGE: "node-1.0.0", AMI: "node-1.0.0"},
            regions=self.regions,
            delays=self.delays,
            request_limits=self.request_limits,
        )
        runners = [
            await self._listen("internet", self.cloud.internet_app(), tls=True),
            await self._listen("site", self.cloud.site_app(NETWORK), tls=True),
            await self._listen("metadata", self.cloud.metadata_app(NETWORK), tls=False),
        ]
        follow = asyncio.create_task(self.cloud.run())
        self._ready.set()
        await self._stop.wait()
        follow.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await follow
        for runner in runners:
            await runner.cleanup()
        await self.cloud.close()

    async def _listen(self, name: str, app: web.Application, *, tls: bool) -> web.AppRunner:
        runner = web.AppRunner(app)
        await runner.setup()
        port = self.ports.get(name, 0)
        site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=self.cloud.ssl_context() if tls else None)
        await site.start()
        self.ports[name] = runner.addresses[0][1]
        return runner

    def arm(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        wait_s: int = 0,
        headers: Mapping[str, str] | None = None,
        **query: str,
    ) -> requests.Response:
        """Make one call to the resource manager as the operator."""
        if token is None:
            token = self._token = self._token or self.token("https://management.azure.com")
        return self._session.request(
            method,
            f"https://management.azure.com{path}",
            params={"api-version": "2024-05-01", **query},
            json=body,
            headers={"Authorization": f"Bearer {token}", "Prefer": f"wait={wait_s}", **(headers or {})},
            timeout=300,
            verify=str(self.cloud.ca_certificate),
        )

    def put(self, path: str, body: Any) -> dict[str, Any]:
        """Make the resource, and return it as it is then."""
        self.make(path, body)
        answer: dict[str, Any] = self.arm("GET", path).json()
        return answer

    def make(self, path: str, body: Any) -> None:
        """Put the resource and wait; fail the test when it is refused. Builders make with it what nobody looks at."""
        response = self.arm("PUT", path, body)
        assert response.status_code in (200, 201, 202), response.text
        self.wait(response)

    def wait(self, response: requests.Response) -> dict[str, Any]:
        """Wait for the operation that a response started, and return its result."""
        url = response.headers.get("Azure-AsyncOperation") or response.headers.get("Location")
        while url:
            answer = self.arm("GET", url.removeprefix("https://management.azure.com").split("?")[0], wait_s=10)
            status = (
                answer.json()["status"] if answer.content else {202: "InProgress"}.get(answer.status_code, "Succeeded")
            )
            if status != "InProgress":
                return answer.json() if answer.content else {}
        return {}

    def owner(self) -> str:
        """Return a token of somebody who is Owner of the subscription."""
        scope = f"/subscriptions/{SUBSCRIPTION}"
        role = f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{OWNER}"
        properties = {"principalId": "owner", "roleDefinitionId": role, "scope": scope}

        async def seed() -> None:
            path = f"{scope}/providers/{ASSIGNMENT_TYPE}/00000000-0000-4000-8000-00000000000f"
            self.cloud.store.put(path, type=ASSIGNMENT_TYPE, body={"properties": properties})

        self.call(seed())
        return str(self.cloud._identity.token(object_id="owner", app_id="o", audience="https://management.azure.com"))

    def token(self, audience: str) -> str:
        environment = self.cloud.operator_environment()
        answer = requests.post(
            f"https://login.microsoftonline.com/{environment['AZURE_TENANT_ID']}/oauth2/v2.0/token",
            data={
                "grant_type": "client_credentials",
                "client_id": environment["AZURE_CLIENT_ID"],
                "client_secret": environment["AZURE_CLIENT_SECRET"],
                "scope": f"{audience}/.default",
            },
            timeout=300,
            verify=str(self.cloud.ca_certificate),
        )
        return str(answer.json()["access_token"])


@cache
def _signing_key() -> bytes:
    """Return a key that signs tokens: making it takes most of a cloud's start."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def resolve(live: Live, listener: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve the clouds' names to one of the live cloud's listeners."""

    def lookup(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name and name.endswith(
            (".azure.com", ".azure.net", ".microsoftonline.com", ".windows.net", ".amazonaws.com")
        ):
            return REAL_LOOKUP("127.0.0.1", live.ports[listener], *args, **kwargs)
        if name == "169.254.169.254":
            return REAL_LOOKUP("127.0.0.1", live.ports["metadata"], *args, **kwargs)
        return REAL_LOOKUP(host, port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)


@contextlib.contextmanager
def running(state: Path, *, regions: tuple[str, ...] = ()) -> Iterator[Live]:
    """Run a cloud that the SDKs in this process reach by its real names, as its operator."""
    with reached(Live(state, regions=regions)) as found:
        yield found


@contextlib.contextmanager
def reached(found: L) -> Iterator[L]:
    """Have the SDKs in this process reach a cloud by its real names, as its operator; stop it at the end."""
    with pytest.MonkeyPatch.context() as patch:
        resolve(found, "internet", patch)
        for key, value in found.cloud.operator_environment().items():
            # To read the system's authorities takes each connection longer than all else, and it knows this one alone.
            is_bundle = value.endswith("/bundle.pem")
            patch.setenv(key, str(found.cloud.ca_certificate) if is_bundle else value)
        try:
            yield found
        finally:
            found.stop()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A cloud without any resource."""
    with running(tmp_path / "cloud") as found:
        yield found


class SlowLive(Live):
    """A cloud in which everything takes as long as Azure documents, by a clock that the test turns."""

    def __init__(self, state: Path) -> None:
        self.clock = TurnedClock()
        super().__init__(state, delays=Delays(1.0, clock=self.clock))

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        self.call(self.clock.turn(seconds))

    def wait(self, response: requests.Response) -> dict[str, Any]:
        """See :class:`Live`; hours pass if there is an operation to wait for."""
        if "Azure-AsyncOperation" in response.headers or "Location" in response.headers:
            self.turn(10_000.0)
        return super().wait(response)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[SlowLive]:
    """A cloud without any resource, and with Azure's delays."""
    with reached(SlowLive(tmp_path / "cloud")) as found:
        yield found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A cloud with a small control plane, for tests that leave it as it is."""
    from tests.lab.cloud.estate import build

    with running(tmp_path_factory.mktemp("built") / "cloud") as found:
        build(found)
        yield found
