"""Reading from AWS: clients of its SDK, with the user's own credentials, and every error as a reason for no answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clouds.aws import session
from clouds.base.findings import NotAskedError, RefusedError
from clouds.base.tagging import ENVIRONMENT


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Whose the credentials are."""

    account: str
    arn: str


class Reader:
    """Clients, made when they are first asked for."""

    def __init__(self, clients: Callable[[str, str], Any] | None = None) -> None:
        """``clients`` makes the SDK's client of a service in a region."""
        self._clients = clients or _signed_in

    def client(self, service: str, region: str) -> Any:
        """A client of its own; ``NotAskedError`` where there are no credentials."""
        return self._clients(service, region)

    def caller(self, region: str) -> Caller:
        """STS's ``GetCallerIdentity``, which nobody is refused."""
        with asked("who the credentials are of", needs="sts:GetCallerIdentity"):
            answer = self.client("sts", region).get_caller_identity()
            return Caller(account=str(answer["Account"]), arn=str(answer["Arn"]))


def _signed_in(service: str, region: str) -> Any:
    """The client of who is signed in."""
    try:
        with session.asked("AWS's SDK"):
            if session.shared().signed_in():
                return session.shared().client(service, region)
    except session.AwsError as error:
        raise NotAskedError(str(error), do=session.SIGN_IN) from None
    raise NotAskedError("there are no AWS credentials here", do=session.SIGN_IN)


def endpoints(services: tuple[str, ...], regions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The addresses of services in each region, by the SDK's own data: no credentials are looked for, since clients
    are made with some that are none, and never used."""
    from botocore.session import Session

    nobody: Any = {"aws_access_key_id": "-", "aws_secret_access_key": "-"}
    try:
        with session.asked("AWS's SDK"):
            sdk = Session()
            return {
                region: tuple(str(sdk.create_client(name, region, **nobody).meta.endpoint_url) for name in services)
                for region in regions
            }
    except session.AwsError as error:
        raise NotAskedError(str(error)) from None


@contextmanager
def asked(what: str, *, needs: str) -> Iterator[None]:
    """Turn what the SDK raises into ``NotAskedError``; ``needs`` is the action to be allowed."""
    try:
        with session.asked(what):
            yield
    except session.AwsError as error:
        if error.denied:
            raise RefusedError(f"{what}: AWS refuses ({error.code})", do=f"allow {needs}") from None
        if error.stale:
            said = f"{what}: AWS does not take the credentials ({error.code})"
            raise NotAskedError(said, do=session.SIGN_IN) from None
        raise NotAskedError(f"{what}: {error.code}: {error.said}" if error.code else str(error)) from None
    except KeyError as error:
        raise NotAskedError(f"{what}: AWS's answer has no {error}") from None


def vpc_blocks(vpc: dict[str, Any]) -> list[str]:
    """Every range that a VPC has or is about to have (EC2 API, ``VpcCidrBlockState``), as ``DescribeVpcs`` tells."""
    more = [
        str(one["CidrBlock"])
        for one in vpc.get("CidrBlockAssociationSet") or []
        if (one.get("CidrBlockState") or {}).get("State") in ("associated", "associating")
    ]
    return list(dict.fromkeys([str(vpc["CidrBlock"]), *more]))


def tagged(resource: dict[str, Any], environment: str) -> bool:
    """Whether a resource is the environment's own (components/tags.py)."""
    tags = {tag.get("Key"): tag.get("Value") for tag in resource.get("Tags", [])}
    return tags.get(ENVIRONMENT) == environment
