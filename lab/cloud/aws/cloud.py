"""AWS as one object: answers requests, keeps the account, and follows its instances until they are terminated."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from lab.cloud.aws import hosts
from lab.cloud.aws.actions import UNSIGNED, changes, check_action, check_parameters
from lab.cloud.aws.errors import AwsRefusalError, render
from lab.cloud.aws.signing import SignedRequest, signer
from lab.cloud.store import DocumentStore
from lab.desired import Hypervisor, World

if TYPE_CHECKING:
    from lab.cloud.aws.account import AwsAccount

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Seconds between searches for machines that have switched themselves off."""
RETRY_S = 10.0
"""Seconds between a group's attempts to launch missing instances."""
END_TIMEOUT_S = 120.0
"""Seconds after which the log warns that a machine still exists. The wait continues after the warning."""

Claims = Callable[[str], Mapping[str, Any]]
Applied = Callable[[int], Any]


class AwsServices:
    """AWS in one environment's regions. Without a region, AWS answers no requests and loads no account.

    The account is loaded outside the event loop, because moto takes seconds to import. Everything else happens in the
    event loop, one request at a time.
    """

    def __init__(
        self,
        *,
        state: Path,
        store: DocumentStore,
        hypervisor: Hypervisor,
        regions: Sequence[str],
        images: Mapping[str, str],
        claims: Claims,
    ) -> None:
        """``claims`` verifies a token of Azure's identity service; ``images`` as in
        :class:`lab.cloud.app.LabClouds`."""
        self._path = state / "aws.pickle"
        self._store = store
        self._hypervisor = hypervisor
        self.regions = tuple(regions)
        self._images = {key: value for key, value in images.items() if key.startswith("ami-")}
        self._claims = claims
        self._key = _operator_key(store) if regions else ("", "")
        self._account: AwsAccount | None = None
        self._loading = ThreadPoolExecutor(1, "aws").submit(self._load) if regions else None
        self._applied: Applied | None = None
        self._ends: dict[str, asyncio.Task[None]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Host names at which the lab's AWS answers."""
        return hosts.names(self.regions)

    def operator_environment(self, bundle: str) -> dict[str, str]:
        """Return environment variables with which AWS's SDKs act as the operator; ``bundle`` is the CA file."""
        if not self.regions:
            return {}
        return {
            "AWS_ACCESS_KEY_ID": self._key[0],
            "AWS_SECRET_ACCESS_KEY": self._key[1],
            "AWS_DEFAULT_REGION": self.regions[0],
            "AWS_REGION": self.regions[0],
            "AWS_CA_BUNDLE": bundle,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    async def account(self) -> AwsAccount:
        """Return the account, once it is loaded.

        Raises:
            RuntimeError: the environment is not on AWS.
        """
        if self._account is None:
            if self._loading is None:
                raise RuntimeError("the environment has no site on AWS")
            self._account = await asyncio.wrap_future(self._loading)
        return self._account

    def answers(self, host: str) -> bool:
        """Return whether a host name belongs to AWS, even if the lab does not serve it."""
        return bool(self.regions) and host.endswith(hosts.SUFFIX)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request to one of :attr:`names`."""
        host = request.host.partition(":")[0].lower()
        endpoint = hosts.endpoint_of(host, self.regions)
        if endpoint is None:
            known = ", ".join(self.names)
            return web.Response(status=421, text=f"The lab's AWS does not have {host}. It has {known}.\n")
        account = await self.account()
        body = await request.read()
        signed = SignedRequest(
            method=request.method,
            path=request.rel_url.raw_path,
            query=request.query_string,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=body,
        )
        try:
            return self._answer(account, endpoint, signed, url=f"https://{host}{request.rel_url.raw_path_qs}")
        except AwsRefusalError as problem:
            log.info("%s refused: %s: %s", endpoint.service, problem.code, problem.message)
            return render(problem, service=endpoint.service)
        except Exception as problem:
            log.exception("%s in %s failed", endpoint.service, endpoint.region)
            return render(AwsRefusalError("InternalError", f"The lab's AWS failed: {problem!r}", status=500),
                          service=endpoint.service)  # fmt: skip

    def world(self) -> World:
        """Return AWS's part of the desired world."""
        if self._account is None:
            return World()
        from lab.cloud.aws.world import build_world

        return build_world(self._account)

    def set_capacity(self, kind: str, zone: str, count: int | None, *, code: str = "") -> None:
        """Limit how many more instances of a type can be launched in a zone. A ``count`` of None restores the default:
        no limit, but no capacity for a scarce type. ``code`` is the error of launches beyond the limit, by default
        InsufficientInstanceCapacity. Groups that wait for capacity try again at once.

        Raises:
            ValueError: the lab does not have the error.
        """
        from lab.cloud.aws.capacity_errors import SHORTAGES, capacity_key

        if self._account is None:
            raise RuntimeError("AWS is not loaded yet; ask again when the lab is ready")
        if code and code not in SHORTAGES:
            raise ValueError(f"{code}: choose one of {', '.join(SHORTAGES)}")
        key, limits = capacity_key(kind, zone), self._account.objects
        limits.capacity.pop(key, None)
        limits.shortages.pop(key, None)
        if count is not None:
            limits.capacity[key] = count
            limits.shortages.update({key: code} if code else {})
        self._fill_groups(self._account)

    def set_quota(self, name: str, region: str, value: int) -> None:
        """Set a quota of a region, in place of AWS's default.

        Raises:
            KeyError: the lab's AWS does not have the quota.
        """
        from lab.cloud.aws.quotas import QUOTAS, quota_key

        if self._account is None:
            raise RuntimeError("AWS is not loaded yet; ask again when the lab is ready")
        self._account.quotas[quota_key(QUOTAS[name].name, region)] = value
        self.changed()

    def warn_spot(self, instance_id: str, notice: str, *, within_s: float | None = None) -> None:
        """Give a spot instance a notice, ``interruption`` or ``rebalance``. ``within_s``: seconds until the
        interruption, by default EC2's two minutes.

        Raises:
            LookupError: there is no such spot instance, or no such notice.
        """
        from lab.cloud.aws import spot

        if self._account is None:
            raise LookupError("AWS is not loaded, and has no instances")
        spot.warn(self._account, instance_id, notice, within_s=spot.NOTICE_S if within_s is None else within_s)
        self.changed()

    def changed(self) -> None:
        """Save the account, tell the hypervisor of the change, and wait for instances that shut down."""
        if self._account is None:
            return
        self._account.save()
        self._store.touch()
        self._await_ends(self._account)

    async def run(self, applied: Applied) -> None:
        """Follow instances until cancelled: terminate those whose machines are gone, replace those that switched
        themselves off, and retry failed launches. ``applied`` waits until the hypervisor has handled a revision."""
        if not self.regions:
            return
        account = await self.account()
        self._applied = applied
        self._await_ends(account)
        loop, retry_at = asyncio.get_running_loop(), 0.0
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                self._replace_stopped(account)
                if loop.time() >= retry_at:
                    retry_at = loop.time() + RETRY_S
                    self._fill_groups(account)
                    self._forget_ended(account)
            except Exception:
                log.exception("AWS could not follow its instances; trying again")

    async def close(self) -> None:
        """Stop background work."""
        for task in self._ends.values():
            task.cancel()
        await asyncio.gather(*self._ends.values(), return_exceptions=True)

    def _load(self) -> AwsAccount:
        # The lab cannot boot any of moto's own images.
        os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
        from lab.cloud.aws.account import AwsAccount

        return AwsAccount(
            self._path, regions=self.regions, images=self._images, key=self._key, room=self._hypervisor.has_room
        )

    def _answer(
        self, account: AwsAccount, endpoint: hosts.RegionalEndpoint, signed: SignedRequest, *, url: str
    ) -> web.Response:
        from moto.core.request import Request as MotoRequest

        from lab.cloud.aws.access import check_access, key_of
        from lab.cloud.aws.responders import ResponderContext, responder
        from lab.cloud.aws.targets import target_of

        service = endpoint.service
        request = MotoRequest.from_primitives(signed.method, url, dict(signed.headers), signed.body)
        action = str(request.form.get("Action") or "")
        if not action:
            raise AwsRefusalError("MissingAction", "The request names no action, or not in its body.")
        if (service, action) not in UNSIGNED:
            key = signer(signed, service=service, keys=lambda key_id: key_of(account, key_id))
            check_action(service, action)
            named = f"{service}:{action}"
            check_access(account, key, named, target_of(account, endpoint.region, named, request.form))
        context = ResponderContext(account=account, claims=self._claims, tunnels=self._hypervisor.tunnel_states)
        answering = responder(service, context)
        answering.setup_class(request, url, request.headers)
        check_parameters(service, action, dict(answering.params))
        try:
            status, headers, text = answering.call_action()
        finally:
            if changes(action):
                self.changed()
        log.info("%s:%s -> %s", service, action, status)
        kind = headers.get("content-type") or headers.get("Content-Type") or "text/xml"
        return web.Response(status=int(status), body=_bytes(text), headers={"Content-Type": str(kind)})

    def _await_ends(self, account: AwsAccount) -> None:
        """Start a task for every instance that shuts down and has none yet."""
        for ec2, instance in account.instances():
            if instance.state == "shutting-down" and instance.id not in self._ends and self._applied is not None:
                task = asyncio.create_task(self._end(account, ec2, instance, self._applied))
                self._ends[instance.id] = task
                task.add_done_callback(partial(self._forget, instance.id))

    async def _end(self, account: AwsAccount, ec2: Any, instance: Any, applied: Applied) -> None:
        """Terminate an instance once its machine is gone."""
        await applied(self._store.revision)
        while True:
            try:
                state = await self._hypervisor.wait_settled(instance.id, timeout_s=END_TIMEOUT_S)
            except TimeoutError:
                log.warning("the machine of %s has not gone within %g s", instance.id, END_TIMEOUT_S)
                continue
            if state.phase == "absent":
                break
            await asyncio.sleep(LOOK_S)  # the machine could not be removed; the hypervisor tries again
        ec2.finish_termination(instance)
        for scaling in account.scaling:
            scaling.ended(instance.id)
        self.changed()

    def _forget(self, instance_id: str, _task: asyncio.Task[None]) -> None:
        self._ends.pop(instance_id, None)

    def _replace_stopped(self, account: AwsAccount) -> None:
        """Terminate instances whose machines powered themselves off, and spot instances that are taken back. Their
        groups launch replacements."""
        from lab.cloud.aws.spot import due

        gone = [
            (ec2, instance.id)
            for ec2, instance in account.instances()
            if instance.state == "running" and self._hypervisor.machine_state(instance.id).phase == "stopped"
        ]
        gone += [due_instance for due_instance in due(account) if due_instance not in gone]
        for ec2, instance_id in gone:
            log.info("%s has switched itself off, or is taken back: it ends", instance_id)
            ec2.terminate_instances([instance_id])
            account.objects.scaling[ec2.region_name].notify_terminate_instances([instance_id])
        if gone:
            self.changed()

    def _fill_groups(self, account: AwsAccount) -> None:
        short = [group for scaling in account.scaling for group in scaling.groups() if group.short]
        for group in short:
            group.follow(
                cause="an instance was started in response to a difference between desired and actual capacity"
            )
        if short:
            self.changed()

    def _forget_ended(self, account: AwsAccount) -> None:
        forgotten = [ec2.region_name for ec2 in account.ec2 if ec2.forget_ended()]
        if forgotten:
            account.save()


def _operator_key(store: DocumentStore) -> tuple[str, str]:
    """Return the operator's key pair; make it the first time."""
    record = store.record("aws", "operator")
    if record is None:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
        record = ["AKIA" + "".join(secrets.choice(letters) for _ in range(16)), secrets.token_urlsafe(30)]
        store.set_record("aws", "operator", record)
    return record[0], record[1]


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()
