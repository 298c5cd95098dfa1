"""Renders answers as the text of the files: short, with a comment for each value that needs one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from contract.resources import GPU_RESOURCE
from longhaul.init.answers import Answers, CloudSite, HostAnswer, Places, PoolAnswer, Rack
from longhaul.init.ranges import DEFAULT_PREFIX, prefixes
from longhaul.project.image_placeholders import kind_for_gpus, placeholder

SCHEMA = "# yaml-language-server: $schema=../docs/reference/{name}.schema.json"


def stack_name(answers: Answers) -> str:
    """Return the name of the stack file."""
    return f"Pulumi.{answers.name}.yaml"


def hosts_name(answers: Answers) -> str:
    """Return the name of the hosts file."""
    return f"hosts.{answers.name}.yaml"


def files(answers: Answers, *, encryption: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each file by its name. A file comes before the files that name it. ``encryption`` is the
    engine's part of the stack file."""
    rack = {hosts_name(answers): _hosts(answers)} if answers.places.racks else {}
    return {**rack, stack_name(answers): _stack(answers, encryption)}


def image_kind(places: Places, site: CloudSite) -> str:
    """Return the kind of image that a site's machines need."""
    return kind_for_gpus(max((pool.gpus for pool in places.pools if pool.site == site.region), default=0))


def _stack(answers: Answers, encryption: Mapping[str, str]) -> str:
    body = [
        "format: 1",
        f"name: {_scalar(answers.name)}",
        "# Every address of the environment is in this range; nothing else of yours may be.",
        f"supernet: {answers.supernet}",
        *_used(answers),
        f"# Private DNS zone; the API server is api.{answers.domain}.",
        f"domain: {_scalar(answers.domain)}",
        *_destroyable(answers),
        "# The order gives each site its block of addresses: append.",
        "sites:",
        *_indented(_sites(answers)),
        *_control_plane(answers),
        *_machine_types(answers),
        *_pools(answers),
        *_bare_metal(answers),
        *_access(answers),
    ]
    head = [
        SCHEMA.format(name="environment"),
        "# Begun by `longhaul init`. Every key: docs/reference/environment.md. The way on: docs/getting-started.md.",
        *(f"{key}: {_scalar(value)}" for key, value in encryption.items()),
        "config:",
        "  longhaul:environment:",
    ]
    return _text([*head, *_indented(body, by=4)])


def _used(answers: Answers) -> Iterator[str]:
    if answers.used:
        yield "# Ranges that something else of yours uses; `supernet` must not overlap them."
        yield f"used: [{', '.join(map(str, answers.used))}]"


def _destroyable(answers: Answers) -> Iterator[str]:
    if answers.destroyable:
        yield "# For trying: `longhaul destroy` may take everything down. Remove it before there is anything to lose."
        yield "destroyable: true"
    else:
        yield "# `longhaul destroy` refuses, unless `destroyable: true` stands here."


def _sites(answers: Answers) -> Iterator[str]:
    sizes = prefixes(answers.places)
    for site in answers.places.clouds:
        yield f"{_scalar(site.region)}:"
        yield from _indented(_cloud_site(answers, site))
        yield from _indented(_prefix(sizes[site.region]))
    named = count()
    for rack in answers.places.racks:
        yield f"{_scalar(rack.site)}:"
        yield from _indented(_rack(rack, named))
        yield from _indented(_prefix(sizes[rack.site]))


def _prefix(length: int) -> Iterator[str]:
    if length != DEFAULT_PREFIX:
        yield "# So large that its zones hold the pools' maxima, or its hosts (docs/sizing.md)."
        yield f"prefix: {length}"


def _cloud_site(answers: Answers, site: CloudSite) -> Iterator[str]:
    if site.cloud == "aws":
        yield "# In the account of your AWS credentials."
    yield f"kind: {site.cloud}"
    yield f"region: {_scalar(site.region)}"
    if site.cloud == "azure":
        yield f"subscription: {_scalar(answers.subscription)}"
        yield f"tenant: {_scalar(answers.tenant)}"
    yield f"zones: [{', '.join(map(_zone, site.zones))}]"
    wanted = image_kind(answers.places, site)
    if site.image is None:
        note = "The baked one goes into this gallery." if site.cloud == "azure" else ""
        yield from _no_image(answers.name, site.region, wanted, note=note)
    account = answers.subscription if site.cloud == "azure" else ""
    yield f"image: {_scalar(site.image or placeholder(site.cloud, account, kind=wanted))}"


def _zone(name: str) -> str:
    return json.dumps(name) if name.isdigit() else _scalar(name)


def _no_image(env: str, site: str, wanted: str, *, note: str = "") -> Iterator[str]:
    option = "" if wanted == "node" else f" --kind {wanted}"
    yield "# No image has this id yet. Bake one, and write here the id that it ends with:"
    yield f"#   longhaul image build --env {env} --site {site}{option}"
    if note:
        yield f"# {note}"


def _rack(rack: Rack, named: Iterator[int]) -> Iterator[str]:
    yield "kind: onprem"
    yield "gateways:"
    for gateway in rack.gateways:
        yield f"  - name: gw-{next(named)}"
        yield "    # Static; the other sites' gateways reach it."
        yield f"    public_address: {gateway.address}"
        if gateway.host_key is None:
            yield "    # host_key: its SSH host key, before the first `longhaul hosts` (docs/hosts.md)."
        else:
            yield f"    host_key: {_scalar(gateway.host_key)}"


def _control_plane(answers: Answers) -> Iterator[str]:
    size = answers.size
    yield "control_plane:"
    yield f"  site: {_scalar(answers.places.control.region)}"
    if size.members == 1:
        yield "  # One member survives nothing, and is never replaced: for trying. 3 outlive the loss of one, 5 of two."
    else:
        yield f"  # {size.members} members outlive the loss of {size.members // 2}. The types have local SSD."
    yield f"  etcd: {{members: {size.members}, machine_type: {size.etcd_type}}}"
    yield "  # An etcd cluster of their own, so that a storm of events stalls nothing."
    yield f"  events: {{members: {size.members}, machine_type: {size.events_type}}}"
    yield "  # About one for each 1,500 nodes, and one more."
    yield f"  api: {{servers: {size.servers}, machine_type: {size.api_type}}}"


def _machine_types(answers: Answers) -> Iterator[str]:
    if answers.places.types:
        yield "# Types that Longhaul does not know by itself (docs/reference/environment.md)."
        yield "machine_types:"
    for name, kind_ in answers.places.types.items():
        yield f"  {_scalar(name)}:"
        for key, value in kind_.model_dump(exclude_defaults=True).items():
            yield f"    {key}: {_scalar(value) if isinstance(value, str) else value}"


def _pools(answers: Answers) -> Iterator[str]:
    if answers.places.pools:
        yield "# `autoscaler: {}` sizes them for waiting pods, on Azure once its role exists (docs/autoscaler.md)."
        yield "# `teams` guarantees each team its share of them (docs/teams.md)."
        yield "pools:"
    # The cluster's own components need a node: one pool without GPUs never shrinks to zero.
    steady = next((pool for pool in answers.places.pools if not pool.gpus and pool.min is None), None)
    for pool in answers.places.pools:
        least = pool.min if pool.min is not None else int(pool is steady)
        yield f"  {_scalar(pool.name)}:"
        yield f"    site: {_scalar(pool.site)}"
        yield f"    machine_type: {_scalar(pool.machine_type)}"
        yield from _indented(_where(pool), by=4)
        if pool.gpus and not least:
            yield "    # None to begin with: `autoscaler: {}` sizes it, or you do (docs/autoscaler.md)."
        elif pool is steady:
            yield "    # Always one: the cluster's own pods need a node."
        yield f"    min: {least}"
        yield f"    max: {pool.max}"
        if pool.gpus:
            yield "    # Keeps work without GPUs away."
            yield f"    taints: [{{key: {GPU_RESOURCE}, effect: NoSchedule}}]"


def _where(pool: PoolAnswer) -> Iterator[str]:
    """Yield the YAML keys for a pool's kind of capacity: zones, spot, reservation."""
    if pool.zones:
        yield f"zones: [{', '.join(map(_zone, pool.zones))}]"
    if pool.spot:
        yield "# Spare capacity, which the cloud may take back at any time."
        yield "spot: true"
    if pool.reservation is not None:
        yield "reservation:"
        yield f"  id: {_scalar(pool.reservation.id)}"
        yield f"  kind: {pool.reservation.kind}"


def _bare_metal(answers: Answers) -> Iterator[str]:
    if answers.places.racks:
        yield "# The hosts are in a separate file."
        yield f"bare_metal: {_scalar(hosts_name(answers))}"


def _access(answers: Answers) -> Iterator[str]:
    yield "access:"
    yield "  # For access to cloud machines through a bastion, when all else fails."
    yield f"  administrator_key: {_scalar(answers.administrator_key)}"
    yield "  # Object ids of the identities that run `longhaul up`: they may write to the vault."
    yield "  vault_officers:"
    yield from (f"    {_scalar(identifier)}: {sort}" for identifier, sort in answers.officers.items())
    yield "  # Their public ranges: the vault lets nobody else in."
    yield f"  operators: [{', '.join(map(str, answers.operators))}]"


def _hosts(answers: Answers) -> str:
    head = [
        SCHEMA.format(name="hosts"),
        f"# The hosts of {answers.name}. The order gives each its addresses: append, and leave the entry of one",
        "# that is gone. `host_key`, its SSH host key, is needed before the first `longhaul hosts` (docs/hosts.md).",
    ]
    if not answers.places.hosts:
        return _text([*head, "hosts: []"])
    return _text([*head, "hosts:", *_indented(_entries(answers.places.hosts))])


def _entries(hosts: Iterable[HostAnswer]) -> Iterator[str]:
    for host in hosts:
        yield f"- name: {_scalar(host.name)}"
        yield f"  site: {_scalar(host.site)}"
        if host.gpus:
            yield f"  gpus: {host.gpus}"
        if host.host_key is not None:
            yield f"  host_key: {_scalar(host.host_key)}"


def _scalar(text: str) -> str:
    """Return ``text`` as a YAML scalar, quoted when YAML would read something else."""
    from components.model.loading.document import parse_document
    from components.model.loading.document_error import DocumentError

    try:
        plain = parse_document(f"it: [{text}]").data["it"] == [text]
    except DocumentError:
        plain = False
    return text if plain else json.dumps(text)


def _indented(lines: Iterable[str], *, by: int = 2) -> Iterator[str]:
    return (f"{' ' * by}{line}" for line in lines)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
