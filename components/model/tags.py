"""Tags that the clouds would refuse, or leave out without a word, half-way through an `up`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from clouds.base.fault import Fault, Location
from components.model.environment import Environment

LONGHAULS = "longhaul-"
"""How Longhaul's own tags begin."""

OWN = 4
"""Tags that Longhaul adds at most: environment, site, pool or role, and on AWS the name."""

ZONES_OWN = 2
"""Tags that it adds to a DNS zone: environment and site."""

MOST, MOST_OF_A_ZONE = 50, 15
"""Tags of a resource in either cloud, and of a private DNS zone (learn.microsoft.com, "Use tags to organize your Azure
resources", Limitations; docs.aws.amazon.com, "Tag your Amazon EC2 resources", Tag restrictions)."""

VALUE = 256
"""Characters of a value in either cloud (same pages)."""

AZURE_NAME = 512
"""Characters of a name in Azure (same page)."""

AZURE_FORBIDDEN = r"<>%&\?/"
"""What a name in Azure cannot hold (same page)."""

AZURE_RESERVED = ("microsoft", "azure", "windows")
"""How a name in Azure cannot begin, in either case (learn.microsoft.com, REST API, "Tags - Create
Or Update")."""

ZONE_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
"""What Azure's DNS zones take: no space, no parenthesis, no digit first, nothing special, ASCII (first page). Others,
such as a colon, may be dropped without an error (hashicorp/terraform-provider-azurerm, issue 6129), and every `up`
would add them again."""

AWS_NAME = 128
"""Characters of a name in AWS ("Tag restrictions")."""

AWS_MARKS = "_.:/=+-@"
"""What names and values in AWS may hold besides letters, digits and spaces of Unicode (docs.aws.amazon.com, IAM API,
``Tag``: roles have them too, and EC2 takes more)."""

AWS_RESERVED = "aws:"
"""How a name in AWS cannot begin, in either case ("Tag restrictions")."""


def check_tags(environment: Environment) -> Iterator[Fault]:
    """Names and values that a cloud of the environment does not take, each with its first fault; and too many."""
    clouds = {name: site for name, site in environment.sites.items() if isinstance(site, AzureSite | AwsSite)}
    if not clouds:
        return
    basis: tuple[Location, ...] = tuple(("sites", name, "kind") for name in clouds)
    on_azure = any(isinstance(site, AzureSite) for site in clouds.values())
    on_aws = any(isinstance(site, AwsSite) for site in clouds.values())
    first: dict[str, str] = {}
    for key, value in environment.tags.items():
        earlier = first.setdefault(key.lower(), key)
        fault = (
            (f"is {earlier!r} in another case, which Azure takes for the same", "one of them")
            if earlier != key
            else None
        )
        fault = fault or _own(key)
        if on_azure:
            fault = fault or _azure(key, zone=_makes_zone(environment))
        if on_aws:
            fault = fault or _aws(key, value)
        if fault is None and len(value) > VALUE:
            fault = f"has a value of {len(value)} characters", f"a value of at most {VALUE}"
        if fault is not None:
            wrong, write = fault
            yield Fault(at=("tags", key), wrong=f"{key!r} {wrong}", write=write, basis=basis)
    most = MOST_OF_A_ZONE - ZONES_OWN if on_azure and _makes_zone(environment) else MOST - OWN
    if len(environment.tags) > most:
        whose = "a private DNS zone of Azure" if most < MOST - OWN else "a resource"
        wrong = f"has {len(environment.tags)} entries, and with Longhaul's own that is more than {whose} can have"
        yield Fault(at=("tags",), wrong=wrong, write=f"at most {most} entries", basis=basis)


def _makes_zone(environment: Environment) -> bool:
    """Whether a DNS zone is made, which then has the tags too."""
    site = environment.sites.get(environment.control_plane.site)
    return isinstance(site, AzureSite) and site.existing.dns_zone is None


def _own(key: str) -> tuple[str, str] | None:
    if key.lower().startswith(LONGHAULS) or key.lower() == "name":
        return "is a tag of Longhaul's own", "another name"
    return None if key else ("is no name", "a name")


def _azure(key: str, *, zone: bool) -> tuple[str, str] | None:
    """What is wrong with a name in Azure, and what to write."""
    if len(key) > AZURE_NAME:
        return f"has {len(key)} characters", f"a name of at most {AZURE_NAME}"
    if set(key) & set(AZURE_FORBIDDEN):
        return "is no name that Azure takes", f"a name without any of {AZURE_FORBIDDEN}"
    if key.lower().startswith(AZURE_RESERVED):
        return "begins as Azure's own tags do", f"a name that begins with none of {', '.join(AZURE_RESERVED)}"
    if zone and not re.fullmatch(ZONE_NAME, key):
        wrong = "is no name that Azure's DNS zones take, and one is made"
        return wrong, "letters, digits, `-`, `_` and `.`, no digit first; or name a zone under `existing`"
    return None


def _aws(key: str, value: str) -> tuple[str, str] | None:
    """What is wrong with a name or its value in AWS, and what to write."""
    if len(key) > AWS_NAME:
        return f"has {len(key)} characters", f"a name of at most {AWS_NAME}"
    if key.lower().startswith(AWS_RESERVED):
        return "begins as AWS's own tags do", f"a name that does not begin with {AWS_RESERVED}"
    for what, text in (("a name", key), ("a value", value)):
        if not all(map(_aws_takes, text)):
            return f"has {what} that AWS does not take", f"{what} of letters, digits, spaces and {AWS_MARKS}"
    return None


def _aws_takes(character: str) -> bool:
    """Letters, separators and numbers by their category, as AWS's pattern has them."""
    return character in AWS_MARKS or unicodedata.category(character)[0] in "LZN"
