"""Reads from AWS through its SDK, with the user's own credentials. Every error becomes a ``NotAskedError``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clouds.aws import session
from clouds.base.findings import NotAllowedError, NotAskedError
from contract.tag_keys import ENVIRONMENT


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Identity of the credentials."""

    account: str
    arn: str


class AwsReader:
    """Clients of AWS's services, made when they are first used."""

    def __init__(self, clients: Callable[[str, str], Any] | None = None) -> None:
        """``clients`` returns the SDK's client of a service in a region."""
        self._clients = clients or _signed_in

    def client(self, service: str, region: str) -> Any:
        """Return the client of a service in a region. Raise ``NotAskedError`` when there are no credentials."""
        return self._clients(service, region)

    def caller(self, region: str) -> Caller:
        """Return the account and ARN of the credentials, by STS's ``GetCallerIdentity``, which needs no permission."""
        with reader_errors("the identity of the credentials", needs="sts:GetCallerIdentity"):
            answer = self.client("sts", region).get_caller_identity()
            return Caller(account=str(answer["Account"]), arn=str(answer["Arn"]))


def _signed_in(service: str, region: str) -> Any:
    """Return the client of a service with the user's credentials."""
    try:
        with session.aws_errors("AWS's SDK"):
            if session.shared().signed_in():
                return session.shared().client(service, region)
    except session.AwsError as error:
        raise NotAskedError(str(error), do=session.SIGN_IN) from None
    raise NotAskedError("there are no AWS credentials here", do=session.SIGN_IN)


def endpoints(services: tuple[str, ...], regions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the addresses of services in each region, from the SDK's own data. No credentials are looked up: the
    clients are made with dummy ones and are never used."""
    from botocore.session import Session

    nobody: Any = {"aws_access_key_id": "-", "aws_secret_access_key": "-"}
    try:
        with session.aws_errors("AWS's SDK"):
            sdk = Session()
            return {
                region: tuple(str(sdk.create_client(name, region, **nobody).meta.endpoint_url) for name in services)
                for region in regions
            }
    except session.AwsError as error:
        raise NotAskedError(str(error)) from None


@contextmanager
def reader_errors(what: str, *, needs: str) -> Iterator[None]:
    """Turn the SDK's errors into ``NotAskedError``. ``needs`` is the action that must be allowed."""
    try:
        with session.aws_errors(what):
            yield
    except session.AwsError as error:
        if error.denied:
            raise NotAllowedError(f"{what}: AWS refuses ({error.code})", do=f"allow {needs}") from None
        if error.stale:
            message = f"{what}: AWS rejects the credentials ({error.code})"
            raise NotAskedError(message, do=session.SIGN_IN) from None
        raise NotAskedError(f"{what}: {error.code}: {error.cloud_message}" if error.code else str(error)) from None
    except KeyError as error:
        raise NotAskedError(f"{what}: AWS's answer has no {error}") from None


def vpc_blocks(vpc: dict[str, Any]) -> list[str]:
    """Return every range that a VPC has or is about to have (EC2 API, ``VpcCidrBlockState``), from the answer of
    ``DescribeVpcs``."""
    more = [
        str(association["CidrBlock"])
        for association in vpc.get("CidrBlockAssociationSet") or []
        if (association.get("CidrBlockState") or {}).get("State") in ("associated", "associating")
    ]
    return list(dict.fromkeys([str(vpc["CidrBlock"]), *more]))


def tagged(resource: dict[str, Any], environment: str) -> bool:
    """Return whether a resource belongs to the environment (clouds/base/tags.py)."""
    tags = {tag.get("Key"): tag.get("Value") for tag in resource.get("Tags", [])}
    return tags.get(ENVIRONMENT) == environment
