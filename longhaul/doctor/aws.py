"""Asking AWS: clients of its SDK, with the user's own credentials, and every error as a reason for no answer.

Operations and fields are those of botocore's service models, with which every request is checked before it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from clouds.base.findings import NotAskedError, RefusedError

CONNECT_S = 10
READ_S = 20
ATTEMPTS = 3

DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
"""Codes of a refusal (docs.aws.amazon.com, EC2 API, "Error codes"; IAM and Service Quotas, "Common errors")."""

STALE = (
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "RequestExpired",
    "UnrecognizedClientException",
)
"""Codes of credentials that are none, or no longer (same pages)."""

SIGN_IN = "sign in (`aws sso login`), or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and what belongs to it"


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Whose the credentials are."""

    account: str
    arn: str


class Aws:
    """Clients, made when they are first asked for."""

    def __init__(self, clients: Callable[[str, str], Any] | None = None) -> None:
        """``clients`` makes the SDK's client of a service in a region."""
        self._clients = clients or self._signed_in
        self._lock = Lock()
        self._session: Any = None

    def client(self, service: str, region: str) -> Any:
        """A client of its own; ``NotAskedError`` where there are no credentials."""
        return self._clients(service, region)

    def caller(self, region: str) -> Caller:
        """STS's ``GetCallerIdentity``, which nobody is refused."""
        with asked("who the credentials are of", needs="sts:GetCallerIdentity"):
            answer = self.client("sts", region).get_caller_identity()
            return Caller(account=str(answer["Account"]), arn=str(answer["Arn"]))

    def _signed_in(self, service: str, region: str) -> Any:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        # Neither a session nor the search for its credentials is made for several threads.
        with self._lock:
            try:
                session = self._found_session()
                if session.get_credentials() is None:
                    raise NotAskedError("there are no AWS credentials here", do=SIGN_IN)
                retries: Any = {"mode": "standard", "total_max_attempts": ATTEMPTS}
                config = Config(connect_timeout=CONNECT_S, read_timeout=READ_S, retries=retries)
                return session.client(service, region_name=region, config=config)
            except (BotoCoreError, ValueError) as error:
                raise NotAskedError(f"AWS's SDK: {error}", do=SIGN_IN) from None

    def _found_session(self) -> Any:
        import boto3

        if self._session is None:
            self._session = boto3.Session()
        return self._session


def endpoints(services: tuple[str, ...], regions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The addresses of services in each region, by the SDK's own data: no credentials are looked for, since clients
    are made with some that are none, and never used."""
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    nobody: Any = {"aws_access_key_id": "-", "aws_secret_access_key": "-"}
    try:
        session = Session()
        return {
            region: tuple(str(session.create_client(name, region, **nobody).meta.endpoint_url) for name in services)
            for region in regions
        }
    except (BotoCoreError, ValueError) as error:
        raise NotAskedError(f"AWS's SDK: {error}") from None


@contextmanager
def asked(what: str, *, needs: str) -> Iterator[None]:
    """Turn what the SDK raises into ``NotAskedError``; ``needs`` is the action to be allowed."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        details = error.response.get("Error", {})
        code, message = str(details.get("Code", "")), str(details.get("Message", ""))
        if code in DENIED:
            raise RefusedError(f"{what}: AWS refuses ({code})", do=f"allow {needs}") from None
        if code in STALE:
            raise NotAskedError(f"{what}: AWS does not take the credentials ({code})", do=SIGN_IN) from None
        raise NotAskedError(f"{what}: {code}: {message}") from None
    except BotoCoreError as error:
        raise NotAskedError(f"{what}: {error}") from None
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
    """Whether a resource is the environment's own (tags: components/aws/account.py)."""
    tags = {tag.get("Key"): tag.get("Value") for tag in resource.get("Tags", [])}
    return tags.get("longhaul-environment") == environment
