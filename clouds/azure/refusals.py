"""Azure's words when it refuses machines, in the statuses of machines and in answers to requests.

Sources: learn.microsoft.com, "Troubleshoot allocation failures", "Resolve errors for resource quotas", "Resolve errors
for SKU not available" and "Error messages for Azure Spot Virtual Machines and scale sets".
"""

from __future__ import annotations

import re

from clouds.base.refusals import Cause, cause_of

SIGNS = {
    Cause.SPOT: ("skunotavailable", "spotpricegreaterthanprovidedmaxprice", "spot"),
    Cause.QUOTA: ("quota",),
    Cause.CAPACITY: ("allocationfailed", "overconstrained", "allocation failed", "capacity"),
}
"""Texts in a code or message that indicate a cause."""
NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*")
"""Names and paths in a message, which are ignored: a resource's own name may contain a text of :data:`SIGNS`."""


def refuses_machines(code: str, message: str) -> bool:
    """Return whether an error with this code and message refuses machines. Azure answers some of these refusals with
    409, which otherwise means that another operation is running."""
    return cause_of(f"{code} {NAMES.sub(' ', message)}", SIGNS) is not Cause.OTHER
