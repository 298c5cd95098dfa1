"""Limits of tags in Azure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clouds.azure.site import AzureSite
from clouds.base.place import Place
from clouds.base.tag_rules import MOST_OF_A_ZONE, OF_A_RESOURCE, ZONES_OWN, TagLimit, TagRules

NAME = 512
"""Largest number of characters of a tag's name in Azure (learn.microsoft.com, "Use tags to organize your Azure
resources", Limitations)."""

FORBIDDEN = r"<>%&\?/"
"""Characters that a tag's name in Azure must not contain (same page)."""

RESERVED = ("microsoft", "azure", "windows")
"""Prefixes that a tag's name in Azure must not have, in upper or lower case (learn.microsoft.com, REST API, "Tags -
Create Or Update")."""

ZONE_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
"""Tag names that Azure's DNS zones accept: no space, no parenthesis, no digit first, no special characters, ASCII (same
page). Other characters, such as a colon, may be dropped without an error (hashicorp/terraform-provider-azurerm, issue
6129), and every `longhaul up` would add them again."""


class AzureTagRules(TagRules[AzureSite]):
    """Tags that Azure accepts."""

    def fault(self, key: str, value: str, places: Sequence[Place[AzureSite]]) -> tuple[str, str] | None:
        """Return what is wrong with a tag's name, and what to write; None when nothing is."""
        if len(key) > NAME:
            return f"has {len(key)} characters", f"a name of at most {NAME}"
        if set(key) & set(FORBIDDEN):
            return "is not a name that Azure accepts", f"a name without any of {FORBIDDEN}"
        if key.lower().startswith(RESERVED):
            return "begins as Azure's own tags do", f"a name that begins with none of {', '.join(RESERVED)}"
        if _makes_zone(places) and not re.fullmatch(ZONE_NAME, key):
            wrong = "is not a name that Azure's DNS zones accept, and Longhaul makes one"
            return wrong, "letters, digits, `-`, `_` and `.`, no digit first; or name a zone under `existing`"
        return None

    def limit(self, places: Sequence[Place[AzureSite]]) -> TagLimit:
        """Return the limit of a resource, or the lower limit of a DNS zone when Longhaul makes one."""
        if _makes_zone(places):
            return TagLimit(count=MOST_OF_A_ZONE - ZONES_OWN, whose="a private DNS zone of Azure")
        return OF_A_RESOURCE


def _makes_zone(places: Sequence[Place[AzureSite]]) -> bool:
    return any(place.is_control and place.site.existing.dns_zone is None for place in places)
