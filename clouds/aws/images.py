"""Images of machines in AWS."""

from __future__ import annotations

from clouds.aws.site import AwsSite

PLACEHOLDER = "ami-" + 17 * "0"
"""Id of no image."""


def stands_for_none(site: AwsSite) -> bool:
    """Whether the id that a site's file gives stands for an image that is still to be baked."""
    return site.image == PLACEHOLDER


def placeholder(_account: str, *, kind: str) -> str:  # noqa: ARG001 - one for all kinds
    """The id that stands for the first image."""
    return PLACEHOLDER
