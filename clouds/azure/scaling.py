"""Actions of Azure that the autoscaler needs on the resource groups of sites with pools.

Azure has no action for the size of a scale set alone: to write it is to write all of it (learn.microsoft.com, "Azure
permissions for Compute").
"""

from __future__ import annotations

LOOK = (
    "Microsoft.Compute/virtualMachineScaleSets/read",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/instanceView/read",
)
"""Actions of an autoscaler that looks."""

ACT = (
    "Microsoft.Compute/virtualMachineScaleSets/write",
    "Microsoft.Compute/virtualMachineScaleSets/delete/action",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/delete",
    # Of what a scale set names, whoever writes it must be allowed to use it (same site, "Troubleshoot Azure RBAC",
    # ``LinkedAuthorizationFailed``).
    "Microsoft.Network/virtualNetworks/subnets/join/action",
    "Microsoft.Network/networkSecurityGroups/join/action",
)
"""Actions besides, of one that acts. ``delete/action`` ends machines of a scale set by their ids."""
