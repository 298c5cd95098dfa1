"""Azure's service tags of a region's public addresses: ``AzureCloud`` and a word for the region.

The words are those of ServiceTags_Public.json of 2025-10-28, change number 375
(microsoft.com/download/details.aspx?id=56519). Most are the region's name. The other words, with their regions, are in
learn.microsoft.com/azure/virtual-network/service-tags-overview; ``brazilse`` is in Azure/azure-rest-api-specs issue
21590, ``chilec`` in Azure/bicep-registry-modules pull request 7100. The region of ``brazilne`` is in no document.
"""

from __future__ import annotations

CLOUD = "AzureCloud"

DAY, SOURCE = "2025-10-28", "ServiceTags_Public.json, change number 375"
"""Date of the words, and the file with them."""

WORDS = frozenset(
    {
        "australiacentral", "australiacentral2", "australiaeast", "australiasoutheast", "austriaeast",
        "belgiumcentral", "brazilne", "brazilse", "brazilsouth", "canadacentral", "canadaeast", "centralfrance",
        "centralindia", "centralus", "centraluseuap", "chilec", "eastasia", "eastus", "eastus2", "eastus2euap",
        "germanyn", "germanywc", "indonesiacentral", "israelcentral", "israelnorthwest", "italynorth",
        "japaneast", "japanwest", "jioindiacentral", "jioindiawest", "koreacentral", "koreasouth",
        "malaysiasouth", "malaysiawest", "mexicocentral", "newzealandnorth", "northcentralus", "northeurope",
        "northeurope2", "norwaye", "norwayw", "polandcentral", "qatarcentral", "southafricanorth",
        "southafricawest", "southcentralus", "southcentralus2", "southeastasia", "southeastus", "southeastus3",
        "southfrance", "southindia", "spaincentral", "swedencentral", "swedensouth", "switzerlandn",
        "switzerlandw", "taiwannorth", "taiwannorthwest", "uaecentral", "uaenorth", "uksouth", "ukwest",
        "usstagec", "usstagee", "westcentralus", "westeurope", "westindia", "westus", "westus2", "westus3",
    }
)  # fmt: skip
"""Words for regions, as published."""

OTHERWISE = {
    "brazilsoutheast": "brazilse",
    "chilecentral": "chilec",
    "eastusstg": "usstagee",
    "francecentral": "centralfrance",
    "francesouth": "southfrance",
    "germanynorth": "germanyn",
    "germanywestcentral": "germanywc",
    "norwayeast": "norwaye",
    "norwaywest": "norwayw",
    "southcentralusstg": "usstagec",
    "switzerlandnorth": "switzerlandn",
    "switzerlandwest": "switzerlandw",
}
"""Words for regions that differ from the region's name."""


def regions() -> frozenset[str]:
    """Return the names of all regions with a tag."""
    return (WORDS - frozenset(OTHERWISE.values())) | OTHERWISE.keys()


def cloud_tag(region: str) -> str:
    """Return the tag of a region. Raise ``LookupError`` when the table lacks it."""
    if region not in regions():
        raise LookupError(f"{region} has no service tag in clouds/azure/service_tags.py")
    return f"{CLOUD}.{OTHERWISE.get(region, region)}"
