"""Checks of on-premises sites before their hosts join the cluster. They read only the file; no service is asked."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.doctor import PIN, CloudDoctor, CloudShare, DoctorQuestion
from clouds.base.findings import Finding, ok, problem, warning
from clouds.onprem.site import OnpremSite


class OnpremCloudDoctor(CloudDoctor[OnpremSite]):
    """Checks of what racks must have and allow."""

    def questions(self, share: CloudShare[OnpremSite]) -> Iterator[DoctorQuestion]:
        """Yield one question, about the sites' gateways."""
        yield DoctorQuestion(name="hosts", where=(share.file,), run=lambda: gateways(share))


def gateways(share: CloudShare[OnpremSite]) -> Iterator[Finding]:
    """Check that gateways have public addresses, which the clouds' gateways can reach, and pinned SSH host keys."""
    for name, place in share.places.items():
        for index, gateway in enumerate(place.site.gateways):
            key = ("sites", name, "gateways", index)
            # In a lab, its own addresses count as public.
            if not gateway.public_address.is_global and not share.lab:
                yield problem(
                    f"{gateway.public_address} of the gateway {gateway.name} is not a public address",
                    share.at(*key, "public_address"),
                    do="the static address under which the internet reaches it",
                )
            else:
                what = f"the gateway {gateway.name} has a public address, {gateway.public_address}"
                yield ok(what, share.at(*key, "public_address"))
            if gateway.host_key is None:
                what = f"the gateway {gateway.name} has no pinned host key: Ansible does not connect to it"
                yield warning(what, share.at(*key, "host_key"), do=PIN)
