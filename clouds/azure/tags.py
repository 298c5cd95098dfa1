"""Tags that Azure takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clouds.azure.site import AzureSite
from clouds.base.place import Place
from clouds.base.tags import MOST_OF_A_ZONE, OF_A_RESOURCE, ZONES_OWN, Most

NAME = 512
"""Characters of a name in Azure (learn.microsoft.com, "Use tags to organize your Azure
resources", Limitations)."""

FORBIDDEN = r"<>%&\?/"
"""What a name in Azure cannot hold (same page)."""

RESERVED = ("microsoft", "azure", "windows")
"""How a name in Azure cannot begin, in either case (learn.microsoft.com, REST API, "Tags - Create
Or Update")."""

ZONE_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
"""What Azure's DNS zones take: no space, no parenthesis, no digit first, nothing special, ASCII (same page). Others,
such as a colon, may be dropped without an error (hashicorp/terraform-provider-azurerm, issue 6129), and every `up`
would add them again."""


def fault(key: str, _value: str, places: Sequence[Place[AzureSite]], /) -> tuple[str, str] | None:
    """What is wrong with a name, and what to write."""
    if len(key) > NAME:
        return f"has {len(key)} characters", f"a name of at most {NAME}"
    if set(key) & set(FORBIDDEN):
        return "is no name that Azure takes", f"a name without any of {FORBIDDEN}"
    if key.lower().startswith(RESERVED):
        return "begins as Azure's own tags do", f"a name that begins with none of {', '.join(RESERVED)}"
    if _makes_zone(places) and not re.fullmatch(ZONE_NAME, key):
        wrong = "is no name that Azure's DNS zones take, and one is made"
        return wrong, "letters, digits, `-`, `_` and `.`, no digit first; or name a zone under `existing`"
    return None


def most(places: Sequence[Place[AzureSite]]) -> Most:
    """Fewer where a DNS zone is made, which then has the tags too."""
    if _makes_zone(places):
        return Most(count=MOST_OF_A_ZONE - ZONES_OWN, whose="a private DNS zone of Azure")
    return OF_A_RESOURCE


def _makes_zone(places: Sequence[Place[AzureSite]]) -> bool:
    return any(place.is_control and place.site.existing.dns_zone is None for place in places)
