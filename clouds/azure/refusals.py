"""Azure's words for machines that it does not give: in the statuses of machines, and in answers to requests.

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
"""Signs of a cause in a code and message."""
NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*")
"""Names and paths in a message: a resource's own name may have a sign in it."""


def refuses_machines(code: str, message: str) -> bool:
    """Return whether an error with this code and message refuses machines. Azure answers some of them with 409, as it
    does while another operation is under way."""
    return cause_of(f"{code} {NAMES.sub(' ', message)}", SIGNS) is not Cause.OTHER
