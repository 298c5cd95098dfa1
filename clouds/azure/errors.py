"""Errors of Azure: refusals, failed requests, and no answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from clouds.azure.refusals import refuses_machines
from clouds.base.errors import CloudError

BUSY = "Conflict"
"""Error code with which Azure refuses a run command while another one runs on the machine (learn.microsoft.com, "Run
scripts in your Linux VM by using action Run Commands": one at a time; Azure/azure-cli issue 32305 shows the answer)."""
TOO_MANY, NOT_THERE = 429, 404
"""Status codes for too many requests, and for something that does not exist."""

OF_RESOURCE = "Resource"
"""Last word of the names of one resource's limits. The names of a subscription's limits end in ``SubscriptionMaximum``
(Azure/azure-cli, test_create_flexible_vmss_with_priority_mix_policy.yaml)."""

PASSING = (0, 408, 409, 412, 429, 500, 502, 503, 504)
"""Status codes after which a later try may succeed: those of azure-core's ``RetryPolicy``; 0, for no answer; 409, while
another operation on the resource runs (a 409 that refuses machines is excluded below); and 412, after somebody else has
changed the resource."""


class AzureError(CloudError):
    """Raised when Azure refuses a request or does not answer. The message names the resource and, where
    it is known, the remedy."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        cloud_message: str = "",
        alone: bool = False,
        retry_s: float = 0.0,
    ) -> None:
        """``status`` is 0 when there was no answer. ``code`` and ``cloud_message`` are Azure's own words; they are
        empty when there was no credential. ``alone`` and ``retry_s``: see :class:`CloudError`."""
        passing = status in PASSING and not (status == 409 and refuses_machines(code, cloud_message))
        super().__init__(
            message,
            passing=passing,
            answered=status != 0,
            code=code,
            busy=status == TOO_MANY or code == BUSY,
            absent=status == NOT_THERE,
            alone=alone,
            retry_s=retry_s,
        )
        self.status, self.cloud_message = status, cloud_message


@contextmanager
def azure_errors(what: str, *, server: str = "") -> Iterator[None]:
    """Turn the SDK's errors into :class:`AzureError`, whose message says ``what`` was requested. A 401 from ``server``
    is a refusal by that server; any other 401 means that no credentials were found."""
    from azure.core.exceptions import AzureError as CoreError
    from azure.core.exceptions import ClientAuthenticationError

    try:
        yield
    except ClientAuthenticationError as error:
        answer: Any = error.response
        if server and answer is not None and server_of(answer.request.url) == server_of(server):
            raise _refusal(what, answer) from None
        message = f"no Azure credential works{_reason(str(error))} Sign in with `az login` or set AZURE_*."
        raise AzureError(message, status=401) from error
    except CoreError as error:
        answer = getattr(error, "response", None)
        if answer is None:
            raise AzureError(f"{what}: no answer: {type(error).__name__}") from error
        raise _refusal(what, answer) from None


def _reason(message: str) -> str:
    """Return why no credential works, as a sentence's end. Of the SDK's list of attempts, which says of most that they
    are unavailable, it is the one that Entra refused."""
    first, *attempts = message.splitlines()
    if "from the included credentials" in first:
        first = next((attempt.strip() for attempt in attempts if "AADSTS" in attempt), "")
    return f": {first.removesuffix('.')}." if first else "."


def _refusal(what: str, answer: Any) -> AzureError:
    try:
        error = answer.json().get("error", {})
    except ValueError:
        error = {}
    return refusal(what, error, status=answer.status_code, reason=answer.reason, headers=answer.headers)


def refusal(what: str, error: Mapping[str, Any], *, status: int, reason: str, headers: Mapping[str, str]) -> AzureError:
    """Return the error for an answer whose document has this ``error``. ``reason`` is the text of the HTTP status."""
    inner = (error.get("innererror") or {}).get("code")
    code, text = str(inner or error.get("code") or status), str(error.get("message", reason))
    limits = [str(detail.get("target") or "") for detail in error.get("details") or ()]
    after = str(headers.get("Retry-After") or "")
    return AzureError(
        f"{what}: {code}: {text}",
        status=status,
        code=code,
        cloud_message=text,
        alone=status == TOO_MANY and bool(limits) and all(limit.endswith(OF_RESOURCE) for limit in limits),
        retry_s=float(after) if after.isdecimal() else 0.0,
    )


def server_of(url: str) -> tuple[str, str | None, int]:
    """Return the server of a URL. Azure writes the port of HTTPS in some of its links."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or 443
