"""Collects the state: machines, pools' groups and tunnels from the clouds, each machine's answer through the cloud's
run command, the API's readiness and objects through its load balancer, and gateways' and hosts' answers over SSH."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from clouds.registry import cloud_of
from components.model import plan
from components.model.control_plane.health import READY_PATH
from components.model.sites.places import place_of
from contract.documents.quarantine import Quarantine
from longhaul.control_plane.node_answers import ask_machine
from longhaul.racks.inventory import GATEWAYS
from longhaul.racks.inventory import machines as onprem_machines
from longhaul.status.cluster import ask_cluster
from longhaul.status.groups import ask_pool
from longhaul.status.observed import ApiEndpoint, CloudView, ClusterView, Observed
from longhaul.status.time_limits import BALANCER_S, CONTROL_MACHINE_S
from longhaul.status.tunnels import ask_tunnels
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.quarantine import QuarantineVault

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.place import Place
    from components.model import Environment, Machine
    from longhaul.racks.inventory import OnpremMachine
    from longhaul.status.ssh_probes import SshProbe

AT_ONCE = 16
"""Number of machines that are asked at the same time."""


def collect(
    environment: Environment,
    machines: Sequence[Machine],
    *,
    identity: Callable[[], Mapping[str, str] | None],
    knock: Callable[[Iterable[OnpremMachine]], Mapping[str, SshProbe]],
) -> Observed:
    """Ask everything at once. Raise ``CommandError`` (unreachable) when the control plane's cloud does not answer.

    ``identity`` returns the administrator's certificate, key and issuer; without them the API is not asked. ``knock``
    asks gateways and hosts over SSH.
    """
    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        message = f"the control plane is on {place.site.kind}, where it cannot be asked yet"
        raise CommandError(message, code=Exit.UNREACHABLE)
    cloud = _cloud(control, place)
    running = [machine.name for machine in machines if machine.name in cloud and cloud[machine.name].power == "running"]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        tunnels = pool.submit(ask_tunnels, environment)
        through_api = pool.submit(_ask_api, environment, identity)

        def known() -> ClusterView:
            return through_api.result()[1]

        onprem = list(onprem_machines(environment, plan(environment)))
        gateways = pool.submit(knock, [machine for machine in onprem if machine.group == GATEWAYS])
        hosts = pool.submit(
            lambda: knock(_without_node([machine for machine in onprem if machine.group != GATEWAYS], known()))
        )
        record = QuarantineVault(control=control, place=place, environment=environment)
        kept = pool.submit(_quarantine, record)
        answers = pool.map(lambda name: ask_machine(control, place, name, limit_s=CONTROL_MACHINE_S), running)
        groups = {name: pool.submit(ask_pool, environment, name, known) for name in environment.pools}
        endpoint, cluster = through_api.result()
        views, blind = tunnels.result()
        return Observed(
            cloud=cloud,
            answers=dict(zip(running, answers, strict=True)),
            endpoint=endpoint,
            tunnels=views,
            blind=blind,
            cluster=cluster,
            groups={name: asked.result() for name, asked in groups.items()},
            ssh_probes={**gateways.result(), **hosts.result()},
            quarantine=kept.result()[0],
            quarantine_error=kept.result()[1],
        )


def _quarantine(record: QuarantineVault) -> tuple[Quarantine, str]:
    """Return the machines in quarantine, and why they are unknown; in that case the rest can still be shown."""
    try:
        return record.find() or Quarantine(), ""
    except CommandError as error:
        return Quarantine(), str(error)


def _without_node(hosts: Sequence[OnpremMachine], cluster: ClusterView) -> list[OnpremMachine]:
    """Return the hosts whose node is missing, not ready or late; none when the API did not answer."""
    ready = {view.name for view in cluster.nodes if view.ready} - cluster.late.keys()
    return [] if cluster.error else [host for host in hosts if host.name not in ready]


def _ask_api(
    environment: Environment, identity: Callable[[], Mapping[str, str] | None]
) -> tuple[ApiEndpoint, ClusterView]:
    """Ask the API by its name, as any client does, for its readiness, nodes and add-ons."""
    known = identity()
    issuer = known["issuer"] if known else None
    endpoint = ask_endpoint(environment.api_name, environment.control_plane.api.port, issuer)
    if known and not endpoint.ready:
        return endpoint, ClusterView(error=f"the API is not asked: {endpoint.reason}")
    return endpoint, ask_cluster(environment, known)


def _cloud(control: ControlAccess[Any], place: Place[Any]) -> dict[str, CloudView]:
    try:
        machines = control.machines(place)
    except CloudError as error:
        raise CommandError(f"{place.environment} cannot be asked: {error}", code=Exit.UNREACHABLE) from None
    return {view.name: CloudView(provisioning=view.provisioning, power=view.power) for view in machines}


def ask_endpoint(host: str, port: int, issuer: str | None) -> ApiEndpoint:
    """Ask for the API's readiness by its name, as any client does."""
    url = f"https://{host}:{port}{READY_PATH}"
    if issuer is None:
        return ApiEndpoint(url=url, reached=False, reason="its issuer is not known: the vault did not give it")
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl.create_default_context(cadata=issuer))
    )
    try:
        with opener.open(url, timeout=BALANCER_S):
            return ApiEndpoint(url=url, reached=True, ready=True)
    except urllib.error.HTTPError as error:
        return ApiEndpoint(url=url, reached=True, reason=f"it answers {error.code}")
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLError):
            return ApiEndpoint(url=url, reached=True, reason=f"its certificate is refused: {error.reason}")
        return ApiEndpoint(url=url, reached=False, reason=f"not reachable from here: {error.reason}")
    except OSError as error:
        return ApiEndpoint(url=url, reached=False, reason=f"not reachable from here: {error}")
