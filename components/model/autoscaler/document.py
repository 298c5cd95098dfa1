"""Document, in a ConfigMap, from which the autoscaler on the API servers' machines reads its environment: the
environment itself, its hosts and prices, and the role that it assumes in AWS. Nothing in it is secret.

The environment has only the values that its file sets, without defaults, because the autoscaler's image may be of this
release or of the one before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from components.model.environment import Environment
from components.model.hosts.section import Host
from contract.object_names import ENVIRONMENT_KEY

CONFIGMAP = "longhaul-autoscaler-environment"
KEY = ENVIRONMENT_KEY
FORMAT = 1
"""Version of the document's format. It is raised when an older autoscaler would misread the document."""


class AutoscalerDocumentError(ValueError):
    """Raised when the document cannot be used; the text says why, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """Content of the document."""

    environment: Environment
    prices: Mapping[str, Any] = field(default_factory=dict)
    """Content of a price file, reduced to the pools' machine types; empty without a file."""
    aws_role: str = ""
    """AWS role to assume; empty when there is no AWS site."""


def to_text(given: Given) -> str:
    """Return the document as JSON. A host has only its name and site, in one short line: a ConfigMap holds at most 1
    MiB (kubernetes.io, "ConfigMaps")."""
    value = {
        "format": FORMAT,
        "aws_role": given.aws_role,
        "prices": given.prices,
        "environment": given.environment.model_dump(mode="json", exclude_unset=True),
        "hosts": {
            site: [host.name for host in given.environment.hosts if host.site == site]
            for site in dict.fromkeys(host.site for host in given.environment.hosts)
        },
    }
    return json.dumps(value, indent=1) + "\n"


def of_text(text: str) -> Given:
    """Parse the document; raise :class:`AutoscalerDocumentError` when this release cannot."""
    try:
        value = json.loads(text)
        if value.get("format") != FORMAT:
            raise AutoscalerDocumentError(
                f"format: is {value.get('format')!r}, this autoscaler reads {FORMAT}: {_RENEW}"
            )
        environment = Environment.model_validate_json(json.dumps(value["environment"]), strict=True)
        hosts = tuple(Host(name=name, site=site) for site, names in value["hosts"].items() for name in names)
        return Given(
            environment=environment.model_copy(update={"hosts": hosts}),
            prices=dict(value["prices"]),
            aws_role=str(value["aws_role"]),
        )
    except ValidationError as error:
        places = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors(include_url=False)[:5])
        raise AutoscalerDocumentError(f"environment: this release does not know it ({places}): {_RENEW}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, AutoscalerDocumentError):
            raise
        raise AutoscalerDocumentError(f"cannot be read ({type(error).__name__}: {error}): {_RENEW}") from None


_RENEW = "renew the image of the API servers, or the objects (`longhaul up --only objects`)"
