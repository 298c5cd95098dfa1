"""Steps between versions that Kubernetes and etcd support, and kubelets that an API server serves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from clouds.base.faults import Fault
from clouds.base.phrases import word_list
from components.model.environment import Environment

SKEW = 3
"""Largest number of minor versions that a kubelet may be older than an API server. A kubelet is never newer
(kubernetes.io, "Version Skew Policy")."""

LEAST_BEFORE: Mapping[tuple[str, tuple[int, int]], tuple[int, int, int]] = {("etcd", (3, 7)): (3, 6, 11)}
"""Smallest patch version from which a step to the next minor version is allowed (etcd.io, "Upgrade etcd from v3.6 to
v3.7")."""

TITLES = {"kubernetes": "Kubernetes", "etcd": "etcd"}


@dataclass(frozen=True, kw_only=True)
class RefusedStep:
    """Reason why a step is refused, and advice."""

    why: str
    do: str


def numbers(version: str) -> tuple[int, int, int]:
    """Return the three numbers of a version."""
    major, minor, patch = (int(part) for part in version.split("."))
    return major, minor, patch


def minor(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version."""
    return numbers(version)[:2]


def step_refused(release: str, running: Collection[str], wanted: str) -> RefusedStep | None:
    """Return why machines that run ``running`` may not go to ``wanted``; None when they may. Machines of several minor
    versions are an unfinished upgrade: it may go on, or be taken back."""
    newest, oldest = max(running, key=numbers), min(running, key=numbers)
    if minor(newest) > minor(wanted) and not is_taken_back(running, wanted):
        return _BACK[release]
    if not _one_step(oldest, wanted):
        (major, number), title = minor(oldest), TITLES[release]
        return RefusedStep(
            why=f"{title} is upgraded one minor version at a time; machines run {oldest} ({_ONE[release]}).",
            do=f"Go to a {major}.{number + 1} first, and continue when all machines run it.",
        )
    least = LEAST_BEFORE.get((release, minor(wanted)))
    if least is not None and minor(oldest) < minor(wanted) and numbers(oldest) < least:
        needed = ".".join(map(str, least))
        return RefusedStep(
            why=f"Before {'.'.join(map(str, minor(wanted)))} all machines run {needed} or later, and some run {oldest} "
            f"({_ONE[release]}).",
            do=f"Go to {needed} or a later patch version first.",
        )
    return None


def is_taken_back(running: Collection[str], wanted: str) -> bool:
    """Return whether an unfinished upgrade is taken back: some machines still run the wanted minor version. The version
    of an etcd cluster is that of its oldest member, and API servers of neighbouring minor versions work together."""
    return len({minor(version) for version in running}) == 2 and minor(wanted) == min(
        minor(version) for version in running
    )


def _one_step(running: str, wanted: str) -> bool:
    (was, from_), (will, to) = minor(running), minor(wanted)
    return was == will and to - from_ <= 1


_ONE = {"kubernetes": 'kubernetes.io, "Version Skew Policy"', "etcd": 'etcd.io, "Upgrading etcd clusters"'}
_BACK = {
    "kubernetes": RefusedStep(
        why="Kubernetes cannot return to an earlier minor version: the API servers have stored objects in a form "
        "that older servers cannot read (kubernetes/website issue 12327).",
        do="Undo the change. An earlier backup can only be restored into a new environment (docs/upgrading.md).",
    ),
    "etcd": RefusedStep(
        why="Every member runs the newer minor version, so the etcd cluster's version has risen, and an older member "
        'refuses its data (etcd.io, "Downgrade etcd").',
        do="Undo the change. An earlier backup can only be restored into a new environment (docs/upgrading.md).",
    ),
}


def image_faults(environment: Environment, images: Mapping[str, Mapping[str, str]]) -> Iterator[Fault]:
    """Yield a fault for each site whose image has a kubelet that the API servers do not support. ``images``: the
    versions in each site's image, by release, as far as they are known."""
    wanted = environment.versions.kubernetes
    for site in environment.sites:
        pools = [name for name, pool in environment.pools.items() if pool.site == site]
        kubelet = images.get(site, {}).get("kubernetes")
        if not pools or kubelet is None:
            continue
        (major, number), (api_major, api_number) = minor(kubelet), minor(wanted)
        if major == api_major and 0 <= api_number - number <= SKEW:
            continue
        newer = (major, number) > (api_major, api_number)
        yield Fault(
            at=("sites", site, "image"),
            wrong=f"contains kubelet {kubelet}, which API servers of {wanted} do not support, for "
            f"{word_list(pools)}: it is " + ("newer" if newer else f"more than {SKEW} minor versions older"),
            write=f"an image with {wanted} (`longhaul image build --site {site}`)"
            + ("; or raise versions.kubernetes first" if newer else "; bring the pools to it before (`longhaul roll`)"),
        )
