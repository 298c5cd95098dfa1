"""Images of racks: none, since their hosts are prepared where they stand."""

from __future__ import annotations

from clouds.onprem.site import OnpremSite


def stands_for_none(_site: OnpremSite, /) -> bool:
    """No: there is nothing to bake."""
    return False


def placeholder(_account: str, *, kind: str) -> str:  # noqa: ARG001 - there is none of any kind
    """None."""
    return ""
