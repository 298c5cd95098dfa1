"""Content of a depot that an environment's machines need: a pure function of the environment and
``images/image.toml``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from clouds.base.machine_types import Rdma
from clouds.registry import cloud_of
from components.model import Environment
from components.model.nodes.rdma import SHARED, host_rdma, pool_rdma
from longhaul.artifacts.image_contents import DIGEST, ContainerImage, Contents
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import Spec

_IMAGE = re.compile(r"(?P<name>[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)+:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})@(?P<digest>.+)")
"""Full name with registry and tag, then digest (reference grammar of github.com/distribution)."""


@dataclass(frozen=True, kw_only=True)
class Pull:
    """An image to pull from its registry."""

    name: str
    """Name with registry and tag."""
    digest: str
    """Digest of the image's manifest, or of its index of architectures."""


@dataclass(frozen=True, kw_only=True)
class DepotContent:
    """Content of a depot."""

    environment: str
    sites: tuple[str, ...]
    tools: tuple[str, ...]
    packages: tuple[str, ...]
    suites: tuple[str, ...]
    extra: tuple[tuple[str, str], ...] = ()
    """Additional packages, each with the suite that has it."""
    pulls: tuple[Pull, ...]
    made: tuple[ContainerImage, ...]
    """Images that are built around a tool's binary."""


def parse_pull(text: str) -> Pull:
    """Parse ``REGISTRY/PATH:TAG@sha256:…``. Raise ValueError for anything else."""
    match = _IMAGE.fullmatch(text)
    if match is None or not DIGEST.fullmatch(match["digest"]):
        raise ValueError(
            f"{text!r}: an image is REGISTRY/PATH:TAG@sha256:…; `crane digest REGISTRY/PATH:TAG` prints the digest"
        )
    return Pull(name=match["name"], digest=match["digest"])


def depot_content(
    environment: Environment,
    contents: Contents,
    spec: Spec,
    *,
    site: str | None = None,
    suites: Sequence[str] = (),
    extra: Sequence[tuple[str, str]] = (),
    more: Sequence[Pull] = (),
    make_images: bool = False,
) -> DepotContent:
    """Return the content for all sites or for one site. ``contents`` must include the parts for GPUs and RDMA.
    ``extra`` are additional packages, each with its suite. ``more`` are additional images; each replaces ours of the
    same name. With ``make_images``, our images are built instead of pulled.

    Raise :class:`SetupError` when the versions do not match, or an image has no digest.
    """
    if site is not None and site not in environment.sites:
        raise SetupError(f"{environment.name} has no site {site!r}; it has {', '.join(environment.sites)}")
    _require_pins(environment, spec)
    sites = (site,) if site else tuple(environment.sites)
    packages, tools = _of_machines(environment, contents, sites)
    gpus = _gpus(environment, sites)
    tools |= set(contents.gpu_tools if gpus else ())
    rdma = _rdma(environment, sites)
    ours = [
        image
        for image in contents.images
        if not image.lab_only and (gpus or not image.gpus) and (not image.rdma or rdma & {*SHARED})
    ]
    packages |= set(contents.rdma if rdma else ())
    more = (*more, *_declared(environment, rdma, given={pull.name for pull in more}))
    given = {pull.name for pull in more}
    pulls, made = _images(ours, spec, given=given, make=make_images)
    return DepotContent(
        environment=environment.name,
        sites=sites,
        tools=tuple(sorted(tools)),
        packages=tuple(sorted(packages.union(*(image.libraries for image in made)))),
        suites=tuple(dict.fromkeys(suites)) or (contents.suite,),
        extra=tuple(extra),
        pulls=(*more, *pulls),
        made=tuple(made),
    )


def _require_pins(environment: Environment, spec: Spec) -> None:
    pinned = {tool.release: tool.version for tool in spec.tools}
    for release in ("kubernetes", "etcd"):
        declared = getattr(environment.versions, release)
        if declared != pinned[release]:
            raise SetupError(
                f"{environment.name}: versions.{release} is {declared}, and tools.toml pins {pinned[release]}: a "
                "depot would hold another version than the machines expect. Leave the version out, or use the release "
                "that pins it"
            )


def _of_machines(environment: Environment, contents: Contents, sites: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return packages and tools of the machines in the sites."""
    with_hosts = {host.site for host in environment.hosts}
    packages: set[str] = set()
    tools: set[str] = set()
    for name in sites:
        rented = cloud_of(environment.sites[name]).rents
        if not rented:
            packages |= set(contents.gateway)
        if name in with_hosts or rented:
            packages |= set(contents.node)
            # A cloud's image must work for any kind of node.
            tools |= set(contents.node_tools if rented else contents.host_tools)
    return packages, tools


def _gpus(environment: Environment, sites: Collection[str]) -> bool:
    """Return whether any machine in the sites has GPUs."""
    pools = (pool for pool in environment.pools.values() if pool.site in sites)
    hosts = (host for host in environment.hosts if host.site in sites)
    return any(host.gpus for host in hosts) or any(environment.machine_type(pool.machine_type).gpus for pool in pools)


def _rdma(environment: Environment, sites: Collection[str]) -> set[Rdma]:
    """Return the RDMA networks of machines in the sites."""
    pools = {pool_rdma(environment, name) for name, pool in environment.pools.items() if pool.site in sites}
    hosts = {host_rdma(host) for host in environment.hosts if host.site in sites}
    return {kind for kind in pools | hosts if kind is not None}


def _declared(environment: Environment, rdma: Collection[Rdma], *, given: Collection[str]) -> Iterator[Pull]:
    """Yield the images that the environment's file names, except those in ``given``."""
    plugin = environment.images.efa_device_plugin
    if plugin is not None and Rdma.EFA in rdma and (pull := parse_pull(plugin)).name not in given:
        yield pull


def _images(
    images: Iterable[ContainerImage], spec: Spec, *, given: set[str], make: bool
) -> tuple[list[Pull], list[ContainerImage]]:
    pulls: list[Pull] = []
    made: list[ContainerImage] = []
    for image in images:
        (tool,) = spec.select([image.tool])
        tag = image.tag.format(version=tool.version)
        name = f"{image.name}:{tag}"
        if name in given:
            continue
        if tag in image.digests and not make:
            pulls.append(Pull(name=name, digest=image.digests[tag]))
        elif image.stand_in and not make:
            raise SetupError(
                f"images/image.toml has no digest of {name}, and an image built here would be a stand-in: write its "
                "digest there, name it with --image, or accept the stand-in with --make-images"
            )
        else:
            made.append(image)
    return pulls, made
