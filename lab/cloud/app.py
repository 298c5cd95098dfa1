"""The lab's clouds as one object: the daemon makes it, binds its applications to sockets, and runs it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

from aiohttp import web

from contract.azure import SIGN_IN_HOST
from lab.cloud.aws import metadata as aws_metadata
from lab.cloud.aws.cloud import AwsServices
from lab.cloud.azure import access, arm, blob_data, identity, policy, quota_and_capacity_errors, vault_data
from lab.cloud.azure.attested import Attester
from lab.cloud.azure.blobs import BlobStore
from lab.cloud.azure.changes import ResourceChanges
from lab.cloud.azure.commands import RunCommands
from lab.cloud.azure.firewall import FirewallClient
from lab.cloud.azure.follower import Follower
from lab.cloud.azure.gateways import ConnectionGateways
from lab.cloud.azure.grants import AssignmentChanges
from lab.cloud.azure.lifecycle import delete_old
from lab.cloud.azure.machines import MachineChanges
from lab.cloud.azure.metadata import NOBODY, AzureMetadata
from lab.cloud.azure.operations import Operations
from lab.cloud.azure.request_buckets import RequestBuckets
from lab.cloud.azure.resource_types import known_types
from lab.cloud.azure.scale_sets import ScaleSets
from lab.cloud.azure.scheduled_events import ScheduledEvents
from lab.cloud.azure.schema.base import SubscriptionSettings
from lab.cloud.azure.secrets import SecretStore
from lab.cloud.azure.world import build_world
from lab.cloud.delays import Delays
from lab.cloud.pki import ensure_pki
from lab.cloud.store import DocumentStore
from lab.desired import Hypervisor, World

SUBSCRIPTION = "00000000-0000-4000-8000-000000000001"
TENANT = "00000000-0000-4000-8000-000000000002"
NAMES = (
    arm.HOST,
    SIGN_IN_HOST,
    "login.windows.net",
    "sts.windows.net",
    f"*{vault_data.SUFFIX}",
    f"*{blob_data.SUFFIX}",
)
"""Azure's host names; AWS's depend on the regions. All are served at one address."""
SYSTEM_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
REQUEST_LIMIT = 4 * 1024 * 1024
"""Largest body of a request in bytes, 4 MB:
learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class LabClouds:
    """All cloud services of one lab.

    Raises:
        OSError: the state folder cannot be written.
    """

    def __init__(
        self,
        *,
        state_dir: Path,
        hypervisor: Hypervisor,
        images: Mapping[str, str],
        subscription: str = SUBSCRIPTION,
        tenant: str = TENANT,
        regions: Sequence[str] = (),
        delays: Delays | None = None,
        request_limits: bool = False,
    ) -> None:
        """``images`` maps an image id, as in a machine's ``imageReference.id`` or a launch template's ``ImageId``, to
        the hypervisor's name of the image. ``regions``: the environment's regions on AWS. ``delays``: the delays of
        Azure's operations; if left out, there are none. ``request_limits``: whether Azure limits requests about its
        machines."""
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._state = state_dir
        self.store = DocumentStore(state_dir / "cloud.sqlite")
        self._secrets = secrets = SecretStore(state_dir / "secrets.sqlite")
        self._settings = SubscriptionSettings(
            tenant=tenant,
            subscription=subscription,
            images=dict(images),
            has_secret=lambda vault, name: name.lower() in secrets.names(vault=vault),
        )
        self._identity = identity.TokenEndpoints(state=state_dir, store=self.store, tenant=tenant)
        access.seed_operator(self.store, principal_id=self._identity.operator["principalId"], subscription=subscription)
        self.aws = AwsServices(
            state=state_dir,
            store=self.store,
            hypervisor=hypervisor,
            regions=regions,
            images=images,
            claims=self._identity.claims,
        )
        self._pki = ensure_pki(state_dir / "ca", (*NAMES, *self.aws.names))
        operations, delays = Operations(self.store), delays or Delays()
        self.request_buckets = RequestBuckets(now=delays.now) if request_limits else None
        events = ScheduledEvents(store=self.store, delays=delays)
        self._follower = Follower(self.store, hypervisor, self._world)
        self._machines = MachineChanges(
            store=self.store, hypervisor=hypervisor, follower=self._follower, operations=operations
        )
        self._arm = arm.ResourceManagerService(
            store=self.store,
            identity=self._identity,
            machines=self._machines,
            scale_sets=ScaleSets(store=self.store, machines=self._machines, operations=operations, events=events),
            commands=RunCommands(
                store=self.store,
                hypervisor=hypervisor,
                operations=operations,
                delays=delays,
                spawn=self._machines.spawn,
            ),
            gateways=ConnectionGateways(store=self.store, hypervisor=hypervisor),
            changes=ResourceChanges(
                store=self.store,
                types=known_types(),
                follower=self._follower,
                operations=operations,
                delays=delays,
                spawn=self._machines.spawn,
            ),
            grants=AssignmentChanges(store=self.store, delays=delays, spawn=self._machines.spawn),
            operations=operations,
            settings=self._settings,
            buckets=self.request_buckets,
        )
        self._vaults = vault_data.VaultData(store=self.store, secrets=self._secrets, identity=self._identity)
        self._blobs = BlobStore(state_dir / "blobs")
        self._blob_data = blob_data.BlobData(store=self.store, blobs=self._blobs, identity=self._identity)
        self._metadata = AzureMetadata(
            store=self.store, identity=self._identity, attester=Attester(state_dir / "ca"), events=events
        )
        self._aws_metadata = aws_metadata.AwsMetadata(account=self.aws.account, changed=self.aws.changed)

    def govern(self, action: str) -> None:
        """Switch the policies of a governed subscription ``on`` or ``off`` for later writes; ``remediate`` switches
        them on, and applies them to existing resources."""
        assignments = policy.Assignments() if action == "off" else policy.GOVERNED
        self._arm.govern(assignments, remediate=action == "remediate")

    def delete_old_blobs(self, *, now: float | None = None) -> list[str]:
        """Apply the lifecycle rules of all storage accounts, as Azure does once a day. Return the names of the deleted
        blobs."""
        return delete_old(self.store, self._blobs, now=now)

    def internet_app(self) -> web.Application:
        """Return the application that answers at the clouds' address on the internet, over TLS."""
        return _application(partial(self._dispatch, network=None))

    def site_app(self, network_id: str) -> web.Application:
        """Return the application that answers at the clouds' address inside a virtual network, over TLS."""
        return _application(partial(self._dispatch, network=network_id))

    def metadata_app(self, network_id: str) -> web.Application:
        """Return the application that answers at 169.254.169.254 inside a virtual network, unencrypted on port 80."""
        service = self._aws_metadata if network_id.startswith("vpc-") else self._metadata
        return _application(partial(service.handle, network=network_id))

    def ssl_context(self) -> ssl.SSLContext:
        """Return the TLS context for the listeners of :meth:`internet_app` and :meth:`site_app`."""
        return self._pki.server_context()

    @property
    def ca_certificate(self) -> Path:
        """Path of the CA certificate (PEM) that the lab's machines and operator trust."""
        return self._pki.ca_certificate

    def warn_spot(self, instance_id: str, notice: str) -> None:
        """Send a notice to a spot instance of AWS. Raise LookupError when there is no such instance or notice."""
        self.aws.warn_spot(instance_id, notice)

    def limit_machines(self, kind: str, zone: str, count: int | None, error: str) -> None:
        """Limit how many machines of a type the clouds have, and set the error of requests beyond the limit. For a type
        of AWS the limit is how many more fit in a zone, for a size of Azure how many there may be in all. An empty
        error means the usual one; None lifts the limit. Raise ValueError for an error that the lab does not have."""
        if kind.startswith("Standard_"):
            quota_and_capacity_errors.set_limit(self.store, kind, count, **({"code": error} if error else {}))
        else:
            self.aws.set_capacity(kind, zone, count, code=error)

    def operator_environment(self) -> dict[str, str]:
        """Return environment variables with which the clouds' SDKs and Pulumi act as the operator.

        The bundle holds the system's CAs too: the same process may talk to public hosts.
        """
        bundle = str(self._bundle())
        operator = self._identity.operator
        return {
            "AZURE_TENANT_ID": self._settings.tenant,
            "AZURE_CLIENT_ID": operator["clientId"],
            "AZURE_CLIENT_SECRET": operator["clientSecret"],
            "AZURE_SUBSCRIPTION_ID": self._settings.subscription,
            "ARM_TENANT_ID": self._settings.tenant,
            "ARM_CLIENT_ID": operator["clientId"],
            "ARM_CLIENT_SECRET": operator["clientSecret"],
            "ARM_SUBSCRIPTION_ID": self._settings.subscription,
            "LAB_OPERATOR_OBJECT_ID": operator["principalId"],
            "REQUESTS_CA_BUNDLE": bundle,
            "SSL_CERT_FILE": bundle,
            "CURL_CA_BUNDLE": bundle,
            **self.aws.operator_environment(bundle),
        }

    async def run(self) -> None:
        """Resume interrupted work, and keep the hypervisor on the desired state until cancelled."""
        if self.aws.regions:
            await self.aws.account()  # without it the world would lack AWS, and the hypervisor would remove AWS's part
        self._arm.resume()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follower.run())
            tasks.create_task(self.aws.run(self._follower.applied))

    async def close(self) -> None:
        """Stop background work and close the files."""
        await self._machines.close()
        await self.aws.close()
        self._secrets.close()
        self._blobs.close()
        self.store.close()

    async def _dispatch(self, request: web.Request, *, network: str | None) -> web.StreamResponse:
        host = request.host.rpartition(":")[0] if ":" in request.host else request.host
        host = host.lower()
        if host == arm.HOST:
            return await self._arm.handle(request)
        if host in (SIGN_IN_HOST, "login.windows.net", "sts.windows.net"):
            return await self._identity.handle(request)
        if host.endswith(vault_data.SUFFIX):
            peer = FirewallClient(address=IPv4Address(request.remote or NOBODY), network=network)
            return await self._vaults.handle(request, host.removesuffix(vault_data.SUFFIX), peer)
        if host.endswith(blob_data.SUFFIX):
            peer = FirewallClient(address=IPv4Address(request.remote or NOBODY), network=network)
            return await self._blob_data.handle(request, host.removesuffix(blob_data.SUFFIX), peer)
        if self.aws.answers(host):
            return await self.aws.handle(request)
        return web.Response(status=421, text=f"The lab's clouds do not answer for {host}.\n")

    def _world(self, store: DocumentStore) -> World:
        return build_world(store, images=self._settings.images) + self.aws.world()

    def _bundle(self) -> Path:
        system = next((Path(path) for path in SYSTEM_BUNDLES if Path(path).exists()), None)
        path = self._state / "ca" / "bundle.pem"
        path.write_bytes((system.read_bytes() if system else b"") + b"\n" + self._pki.ca_certificate.read_bytes())
        return path


def _application(handler: Handler) -> web.Application:
    application = web.Application(client_max_size=REQUEST_LIMIT)
    application.router.add_route("*", "/{tail:.*}", handler)
    return application
