"""Reasons for which the accountant counts a pod as beyond its team's queue (:mod:`services.accountant`)."""

from __future__ import annotations

from enum import StrEnum


class BeyondReason(StrEnum):
    """Cause for which a pod in a team's namespace is beyond the team's queue."""

    NOT_ADMITTED = "NotAdmitted"
    """The queue has admitted neither the pod nor a job of which it is a part."""
    MORE_THAN_ADMITTED = "MoreThanAdmitted"
    """The older pods of the same job already use all that the queue has admitted for it."""
    UNCOUNTED = "Uncounted"
    """The pod requests no cores or no memory, so the queue has admitted nothing for what it uses."""
    EVICTED = "Evicted"
    """Kueue has evicted the pod's job, and the job still runs after the time that ends take."""
    FINISHED = "Finished"
    """The queue counts the pod's job as finished, and nobody has told the pod to end in time."""
    UNCOLLECTED = "Uncollected"
    """The pod's Job or JobSet is deleted, and the garbage collector has not told the pod to end in time."""
    TOO_MANY_ENDING = "TooManyEnding"
    """The pod is ending, and the team's ending pods together use more than the team may use once."""
