"""Instance metadata service, ``169.254.169.254`` in a VPC: an instance's own data, and its role's credentials.

docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html and
docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from lab.cloud.aws import spot
from lab.cloud.aws.hosts import ACCOUNT
from lab.cloud.aws.world import user_data

if TYPE_CHECKING:
    from lab.cloud.aws.account import AwsAccount
    from lab.cloud.aws.moto_ec2 import LabEc2

log = logging.getLogger(__name__)

LONGEST_TOKEN_S = 21600
"""Longest life of a token, six hours: docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html."""
CREDENTIALS_S = 6 * 3600
RENEW_S = 5 * 60
"""Seconds before their expiry at which credentials are renewed (IAM roles for Amazon EC2)."""
LIFE_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN_HEADER = "X-aws-ec2-metadata-token"  # noqa: S105 - a header's name


class AwsMetadata:
    """Answers instances, which it identifies by their VPC and address."""

    def __init__(self, *, account: Callable[[], Awaitable[AwsAccount]], changed: Callable[[], None]) -> None:
        """``changed`` saves the account; it is called after credentials were made."""
        self._account = account
        self._changed = changed
        self._tokens: dict[str, tuple[str, float]] = {}

    async def handle(self, request: web.Request, network: str) -> web.StreamResponse:
        """Answer one instance in the VPC ``network``."""
        account = await self._account()
        response = self._answer(account, request, network)
        log.info("metadata: %s asked %s -> %s", request.remote, request.path, response.status)
        return response

    def _answer(self, account: AwsAccount, request: web.Request, network: str) -> web.Response:
        if "X-Forwarded-For" in request.headers:
            return _error(403, "Forbidden")
        match = _instance_at(account, network, request.remote or "")
        if match is None:
            return _error(404, "Not Found")
        ec2, instance = match
        if request.path == "/latest/api/token":
            return self._token(request, instance)
        if request.method != "GET":
            return _error(405, "Method Not Allowed")
        given = request.headers.get(TOKEN_HEADER)
        if given is None and instance.metadata_options.http_tokens != "required":
            return self._value(account, ec2, instance, request.path)
        holder, ends = self._tokens.get(given or "", ("", 0.0))
        if holder != instance.id or ends < time.monotonic():
            return _error(401, "Unauthorized")
        return self._value(account, ec2, instance, request.path)

    def _token(self, request: web.Request, instance: Any) -> web.Response:
        if request.method != "PUT":
            return _error(405, "Method Not Allowed")
        wanted = request.headers.get(LIFE_HEADER, "")
        if not wanted.isdigit() or not 1 <= int(wanted) <= LONGEST_TOKEN_S:
            return _error(400, "Bad Request")
        _limit_hops(request, instance.metadata_options.http_put_response_hop_limit)
        now = time.monotonic()
        self._tokens = {token: session for token, session in self._tokens.items() if session[1] > now}
        token = secrets.token_urlsafe(42)
        self._tokens[token] = (instance.id, now + int(wanted))
        return web.Response(text=token, headers={LIFE_HEADER: wanted})

    def _value(self, account: AwsAccount, ec2: LabEc2, instance: Any, path: str) -> web.Response:
        parts = [part for part in path.split("/") if part]
        if not parts or parts[0] != "latest":
            return _error(404, "Not Found") if parts else web.Response(text="latest")
        if parts[1:] == ["user-data"]:
            raw = user_data(instance)
            return web.Response(body=raw, content_type="application/octet-stream") if raw else _error(404, "Not Found")
        tree: Tree = {
            "meta-data": tree_of(ec2, instance, lambda role: self._credentials(account, instance, role)),
            "dynamic": {"instance-identity": {"document": _document(ec2, instance)}},
        }
        return _leaf(tree, parts[1:])

    def _credentials(self, account: AwsAccount, instance: Any, role: Any) -> str:
        """Return credentials of the instance's role; they stay the same until shortly before they expire."""
        now = datetime.datetime.now(datetime.UTC)
        session = next(
            (
                assumed_role
                for assumed_role in reversed(account.sts.assumed_roles)
                if assumed_role.session_name == instance.id
            ),
            None,
        )
        if session is None or _aware(session.expiration) - now < datetime.timedelta(seconds=RENEW_S):
            session = account.sts.assume_role(
                region_name=instance.region_name,
                role_session_name=instance.id,
                role_arn=role.arn,
                policy="",
                duration=CREDENTIALS_S,
                external_id="",
            )
            self._changed()
        return json.dumps(
            {
                "Code": "Success",
                "LastUpdated": _text(_aware(session.expiration) - datetime.timedelta(seconds=CREDENTIALS_S)),
                "Type": "AWS-HMAC",
                "AccessKeyId": session.access_key_id,
                "SecretAccessKey": session.secret_access_key,
                "Token": session.session_token,
                "Expiration": _text(_aware(session.expiration)),
            },
            indent=2,
        )


def _instance_at(account: AwsAccount, network: str, address: str) -> tuple[LabEc2, Any] | None:
    for ec2, instance in account.instances():
        if instance.vpc_id == network and instance.private_ip == address:
            return ec2, instance
    return None


def _leaf(tree: Tree, parts: list[str]) -> web.Response:
    value: Any = tree
    for part in parts:
        value = value.get(part) if isinstance(value, dict) else None
    if callable(value):
        value = value()
    if value is None:
        return _error(404, "Not Found")
    if isinstance(value, dict):
        lines = [f"{key}/" if isinstance(inner, dict) else key for key, inner in value.items() if inner is not None]
        return web.Response(text="\n".join(lines))
    return web.Response(text=str(value))


def _document(ec2: LabEc2, instance: Any) -> str:
    return json.dumps(
        {
            "accountId": ACCOUNT,
            "architecture": instance.architecture,
            "availabilityZone": instance.availability_zone,
            "imageId": instance.image_id,
            "instanceId": instance.id,
            "instanceType": instance.instance_type,
            "pendingTime": _text(_aware(instance.launch_time)),
            "privateIp": instance.private_ip,
            "region": ec2.region_name,
            "version": "2017-09-30",
        },
        indent=2,
    )


def _limit_hops(request: web.Request, limit: int) -> None:
    """Set the TTL of the answer to the instance's hop limit. With a limit of 1, a container with an address of its own
    is one hop too far and does not get the token."""
    connection = request.transport.get_extra_info("socket") if request.transport else None
    with contextlib.suppress(OSError):
        if connection is not None and connection.family == socket.AF_INET:
            connection.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, int(limit))


def _aware(moment: datetime.datetime) -> datetime.datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _text(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _error(status: int, text: str) -> web.Response:
    page = (
        '<?xml version="1.0" encoding="iso-8859-1"?>\n<html><head><title>{0} - {1}</title></head>'
        "<body><h1>{0} - {1}</h1></body></html>\n"
    )
    return web.Response(status=status, text=page.format(status, text), content_type="text/html")


if TYPE_CHECKING:
    from lab.cloud.aws.moto_ec2 import LabEc2

Tree = dict[str, Any]
"""Tree of metadata: folders are maps, and values are texts or functions that return texts. None stands for data that an
instance lacks."""


def tree_of(ec2: LabEc2, instance: Any, credentials: Callable[[Any], str]) -> Tree:
    """Return everything below ``/latest/meta-data``; ``credentials`` returns the credentials document of a role."""
    interface = instance.nics[0]
    region = ec2.region_name
    return {
        "ami-id": instance.image_id,
        "ami-launch-index": "0",
        "hostname": instance.private_dns_name,
        "iam": _iam(ec2, instance, credentials),
        "instance-action": "none",
        "instance-id": instance.id,
        "instance-life-cycle": instance.lifecycle or "on-demand",
        "instance-type": instance.instance_type,
        "local-hostname": instance.private_dns_name,
        "local-ipv4": instance.private_ip,
        "mac": interface.mac_address,
        "network": {"interfaces": {"macs": {interface.mac_address: _interface(ec2, instance, interface)}}},
        "placement": {
            "availability-zone": instance.availability_zone,
            "availability-zone-id": interface.subnet.availability_zone_id,
            "region": region,
        },
        "reservation-id": _reservation(ec2, instance),
        "security-groups": "\n".join(sorted(group.name for group in interface.group_set)),
        "services": {"domain": "amazonaws.com", "partition": "aws"},
        "tags": _tags(ec2, instance),
        **spot.metadata(instance),
    }


def _interface(ec2: LabEc2, instance: Any, interface: Any) -> Tree:
    vpc = ec2.get_vpc(interface.subnet.vpc_id)
    ranges = [association["cidr_block"] for association in vpc.cidr_block_association_set]
    prefixes = [ipv4_prefix["Ipv4Prefix"] for ipv4_prefix in interface.ipv4_prefixes]
    return {
        "device-number": "0",
        "interface-id": interface.id,
        "ipv4-prefix": "\n".join(prefixes) if prefixes else None,
        "local-hostname": instance.private_dns_name,
        "local-ipv4s": "\n".join(
            private_ip_address["PrivateIpAddress"] for private_ip_address in interface.private_ip_addresses
        ),
        "mac": interface.mac_address,
        "owner-id": interface.owner_id,
        "security-group-ids": "\n".join(sorted(group.id for group in interface.group_set)),
        "security-groups": "\n".join(sorted(group.name for group in interface.group_set)),
        "subnet-id": interface.subnet.id,
        "subnet-ipv4-cidr-block": interface.subnet.cidr_block,
        "vpc-id": interface.subnet.vpc_id,
        "vpc-ipv4-cidr-block": ranges[0],
        "vpc-ipv4-cidr-blocks": "\n".join(ranges),
    }


def _iam(ec2: LabEc2, instance: Any, credentials: Callable[[Any], str]) -> Tree | None:
    profile_name = instance.iam_instance_profile
    profile = next(
        (
            instance_profile
            for instance_profile in ec2.account.iam.get_instance_profiles()
            if profile_name and instance_profile.arn == profile_name["Arn"]
        ),
        None,
    )
    if profile is None:
        return None
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    info = f'{{"Code": "Success", "LastUpdated": "{now}", "InstanceProfileArn": "{profile.arn}", '
    info += f'"InstanceProfileId": "{profile.id}"}}'
    return {
        "info": info,
        "security-credentials": {role.name: lambda role=role: credentials(role) for role in profile.roles},
    }


def _reservation(ec2: LabEc2, instance: Any) -> str | None:
    return next(
        (reservation.id for reservation in ec2.reservations.values() if instance in reservation.instances), None
    )


def _tags(ec2: LabEc2, instance: Any) -> Tree | None:
    """Return the instance's tags if its metadata options enable them; by default they are disabled."""
    if instance.metadata_options.instance_metadata_tags != "enabled":
        return None
    return {"instance": dict(ec2.tags.get(instance.id, {}))}
