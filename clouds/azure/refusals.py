"""Azure's words when it refuses machines, in the statuses of machines and in answers to requests.

Sources: learn.microsoft.com, "Troubleshoot allocation failures", "Resolve errors for resource quotas", "Resolve errors
for SKU not available", "Error messages for Azure Spot Virtual Machines and scale sets" and "Azure virtual network
error codes" (``SubnetIsFull``).
"""

from __future__ import annotations

import re

from clouds.base.refusals import Cause, cause_of

SIGNS = {
    # First: its message speaks of capacity too.
    Cause.ADDRESSES: ("subnetisfull",),
    Cause.SPOT: ("skunotavailable", "spotpricegreaterthanprovidedmaxprice", "spot"),
    Cause.QUOTA: ("quota",),
    Cause.CAPACITY: ("allocationfailed", "overconstrained", "allocation failed", "capacity"),
}
"""Texts in a code or message that indicate a cause."""
NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*")
"""Names and paths in a message, which are ignored: a resource's own name may contain a text of :data:`SIGNS`."""


def refusal_cause(words: str, *, spot: bool) -> Cause:
    """Return the cause of a refusal. ``SkuNotAvailable`` means spare machines for a ``spot`` machine, and machines in
    general for any other ("Resolve errors for SKU not available")."""
    cause = cause_of(words, SIGNS)
    return Cause.CAPACITY if cause is Cause.SPOT and not spot else cause


def refuses_machines(code: str, message: str) -> bool:
    """Return whether an error with this code and message refuses machines. Azure answers some of these refusals with
    409, which otherwise means that another operation is running."""
    return cause_of(f"{code} {NAMES.sub(' ', message)}", SIGNS) is not Cause.OTHER
