"""Checks of what must exist and be allowed before anything is made in Nimbus."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from clouds.base.doctor import Question, Share, fitted, unbaked
from clouds.base.errors import CloudError
from clouds.base.findings import Finding, NotAskedError, ok, problem
from nimbus.api import ACCOUNT, account
from nimbus.images import is_placeholder
from nimbus.made import existing_parts
from nimbus.site import NimbusSite


def services(share: Share[NimbusSite], /) -> dict[str, tuple[str, ...]]:
    """Return an address for each region, with its sites."""
    return {f"https://{region}.nimbus.invalid": tuple(names) for region, names in share.regions().items()}


def questions(share: Share[NimbusSite], /) -> Iterator[Question]:
    """Yield the questions for the account, each region and each site."""
    yield Question(name="credentials", where=share.sites(*share.places), run=partial(credentials, share))
    for region, names in share.regions().items():
        yield Question(name="quotas", where=share.sites(*names), run=partial(cores, share, region, names))
    for name, place in share.places.items():
        yield Question(name="images", where=share.sites(name), run=partial(image, share, name))
        if existing_parts(place.site):
            yield Question(name="existing", where=share.sites(name), run=partial(fabric, share, name))


def _asked() -> dict[str, Any]:
    try:
        return account()
    except CloudError as error:
        raise NotAskedError(str(error), do=f"set {ACCOUNT}") from None


def credentials(share: Share[NimbusSite]) -> Iterator[Finding]:
    """Check that the credentials belong to the project in the file."""
    project = _asked()["project"]
    for name, place in share.places.items():
        key = share.at("sites", name, "project")
        if place.site.project != project:
            what = f"Nimbus: the credentials are of the project {project}, the file says {place.site.project}"
            yield problem(what, key, do="sign in to that one, or correct the file")
        else:
            yield ok(f"Nimbus: the project {project}", key)


def cores(share: Share[NimbusSite], region: str, names: list[str]) -> Iterator[Finding]:
    """Check that a region's quota is enough for the pools at their largest size."""
    quota = int(_asked()["cores"].get(region, 0))
    wanted = sum(one.vcpus * one.most for one in share.machines_in(*names))
    if wanted > quota:
        what = f"Nimbus {region} gives {quota} cores, and pools may grow to {wanted}"
        yield problem(what, *share.sites(*names), do=f"ask Nimbus for {wanted - quota} more, or lower `max`")
    else:
        yield ok(f"Nimbus {region} gives {quota} cores, pools take {wanted} at most", *share.sites(*names))


def image(share: Share[NimbusSite], name: str) -> Iterator[Finding]:
    """Check that a site's image exists."""
    site, key = share.places[name].site, share.at("sites", name, "image")
    if is_placeholder(site):
        yield unbaked(share, name)
    elif site.image not in _asked()["images"]:
        yield problem(f"Nimbus has no image {site.image}", key, do="one of the project's images")
    else:
        yield ok(f"the image {site.image} is in Nimbus", key)


def fabric(share: Share[NimbusSite], name: str) -> Iterator[Finding]:
    """Check that the fabric that a site names exists."""
    named = share.places[name].site.existing.fabric or ""
    found = named if named in _asked()["fabrics"] else None
    yield from fitted(share, f"sites.{name}.existing.fabric", "fabric", named, found, ())
