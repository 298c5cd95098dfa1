"""Renders answers as the text of the files: short, with a comment for each value that needs one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from longhaul.init.answers import Answers, Aws, Azure, Pool, Rack
from longhaul.init.images import kind, placeholder

HOSTS_SITE = "rack"
"""Name of the on-prem site; sites in clouds are named after their region."""
SCHEMA = "# yaml-language-server: $schema=../docs/reference/{name}.schema.json"


def stack_name(answers: Answers) -> str:
    """Return the name of the stack file."""
    return f"Pulumi.{answers.name}.yaml"


def hosts_name(answers: Answers) -> str:
    """Return the name of the hosts file."""
    return f"hosts.{answers.name}.yaml"


def files(answers: Answers, *, encryption: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each file by its name. A file that another one names comes first. ``encryption`` is the
    engine's part of the stack file."""
    rack = {hosts_name(answers): _hosts(answers, answers.rack)} if answers.rack is not None else {}
    return {**rack, stack_name(answers): _stack(answers, encryption)}


def pools(answers: Answers) -> dict[str, tuple[str, Pool]]:
    """Return site and size of each pool by its name."""
    found = {}
    if answers.azure.pool is not None:
        found[f"azure-{_what(answers.azure.pool)}"] = (answers.azure.region, answers.azure.pool)
    if answers.aws is not None:
        found[f"aws-{_what(answers.aws.pool)}"] = (answers.aws.region, answers.aws.pool)
    return found


def gpus(pool: Pool | None) -> int:
    """Return the number of GPUs of a pool's machine."""
    from components.model.machine_types import known_machine_types

    return 0 if pool is None else known_machine_types()[pool.machine_type].gpus


def _what(pool: Pool) -> str:
    return "gpu" if gpus(pool) else "cpu"


def _stack(answers: Answers, encryption: Mapping[str, str]) -> str:
    body = [
        "format: 1",
        f"name: {_scalar(answers.name)}",
        "# Every address of the environment is in it; nothing else of yours may be.",
        f"supernet: {answers.supernet}",
        f"# Private DNS zone; the API server is api.{answers.domain}.",
        f"domain: {_scalar(answers.domain)}",
        *_destroyable(answers),
        "# The order gives each site its block of addresses: append.",
        "sites:",
        *_indented(_sites(answers)),
        *_control_plane(answers),
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


def _destroyable(answers: Answers) -> Iterator[str]:
    if answers.destroyable:
        yield "# For trying: `longhaul destroy` may take everything down. Remove it before there is anything to lose."
        yield "destroyable: true"
    else:
        yield "# `longhaul destroy` refuses, unless `destroyable: true` stands here."


def _sites(answers: Answers) -> Iterator[str]:
    yield f"{_scalar(answers.azure.region)}:"
    yield from _indented(_azure(answers.name, answers.azure))
    if answers.aws is not None:
        yield f"{_scalar(answers.aws.region)}:"
        yield from _indented(_aws(answers.name, answers.aws))
    if answers.rack is not None:
        yield f"{HOSTS_SITE}:"
        yield from _indented(_rack(answers.rack))


def _azure(env: str, azure: Azure) -> Iterator[str]:
    yield "kind: azure"
    yield f"region: {_scalar(azure.region)}"
    yield f"subscription: {_scalar(azure.subscription)}"
    yield f"tenant: {_scalar(azure.tenant)}"
    yield f"zones: [{', '.join(map(json.dumps, azure.zones))}]"
    wanted = kind(gpus(azure.pool))
    if azure.image is None:
        yield from _no_image(env, azure.region, wanted, note="The baked one goes into this gallery.")
    yield f"image: {_scalar(azure.image or placeholder('azure', azure.subscription, kind=wanted))}"


def _aws(env: str, aws: Aws) -> Iterator[str]:
    yield "# In the account that your AWS credentials are of."
    yield "kind: aws"
    yield f"region: {_scalar(aws.region)}"
    yield f"zones: [{', '.join(map(_scalar, aws.zones))}]"
    wanted = kind(gpus(aws.pool))
    if aws.image is None:
        yield from _no_image(env, aws.region, wanted)
    yield f"image: {_scalar(aws.image or placeholder('aws', '', kind=wanted))}"


def _no_image(env: str, site: str, wanted: str, *, note: str = "") -> Iterator[str]:
    option = "" if wanted == "node" else f" --kind {wanted}"
    yield "# No image has this id yet. Bake one, and write here the id that it ends with:"
    yield f"#   longhaul image build --env {env} --site {site}{option}"
    if note:
        yield f"# {note}"


def _rack(rack: Rack) -> Iterator[str]:
    yield "kind: onprem"
    yield "gateways:"
    for index, gateway in enumerate(rack.gateways):
        yield f"  - name: gw-{index}"
        yield "    # Static; the other sites' gateways reach it."
        yield f"    public_address: {gateway.address}"
        if gateway.host_key is None:
            yield "    # host_key: its SSH host key, before the first `longhaul hosts` (docs/hosts.md)."
        else:
            yield f"    host_key: {_scalar(gateway.host_key)}"


def _control_plane(answers: Answers) -> Iterator[str]:
    size = answers.size
    yield "control_plane:"
    yield f"  site: {_scalar(answers.azure.region)}"
    if size.members == 1:
        yield "  # One member survives nothing, and is never replaced: for trying. 3 outlive the loss of one, 5 of two."
    else:
        yield f"  # {size.members} members outlive the loss of {size.members // 2}. The types have local SSD."
    yield f"  etcd: {{members: {size.members}, machine_type: {size.etcd_type}}}"
    yield "  # An etcd cluster of their own, so that a storm of events stalls nothing."
    yield f"  events: {{members: {size.members}, machine_type: {size.events_type}}}"
    yield "  # About one for each 1,500 nodes, and one more."
    yield f"  api: {{servers: {size.servers}, machine_type: {size.api_type}}}"


def _pools(answers: Answers) -> Iterator[str]:
    found = pools(answers)
    if not found:
        return
    yield "pools:"
    for name, (site, pool) in found.items():
        yield f"  {name}:"
        yield f"    site: {_scalar(site)}"
        yield f"    machine_type: {pool.machine_type}"
        if gpus(pool):
            yield "    # None to begin with, and no autoscaler yet: size it in its cloud (docs/getting-started.md)."
            yield "    min: 0"
            yield f"    max: {pool.max}"
            yield "    # Keeps work without GPUs away."
            yield "    taints: [{key: nvidia.com/gpu, effect: NoSchedule}]"
        else:
            yield "    # One always: what the cluster itself runs needs a node."
            yield "    min: 1"
            yield f"    max: {pool.max}"


def _bare_metal(answers: Answers) -> Iterator[str]:
    if answers.rack is not None:
        yield "# The hosts, in a file of their own."
        yield f"bare_metal: {_scalar(hosts_name(answers))}"


def _access(answers: Answers) -> Iterator[str]:
    yield "access:"
    yield "  # The way into cloud machines through a bastion, when all else fails."
    yield f"  administrator_key: {_scalar(answers.administrator_key)}"
    yield "  # Object ids of who runs `longhaul up`: they may write to the vault."
    yield "  vault_officers:"
    yield from (f"    {_scalar(identifier)}: {sort}" for identifier, sort in answers.officers.items())
    yield "  # Public ranges that they come from: the vault lets nobody else in."
    yield f"  operators: [{', '.join(map(str, answers.operators))}]"


def _hosts(answers: Answers, rack: Rack) -> str:
    head = [
        SCHEMA.format(name="hosts"),
        f"# The hosts of {answers.name}. The order gives each its addresses: append, and leave the entry of one",
        "# that is gone. `host_key`, its SSH host key, is needed before the first `longhaul hosts` (docs/hosts.md).",
    ]
    if not rack.hosts:
        return _text([*head, "hosts: []"])
    return _text([*head, "hosts:", *_indented(_entries(rack))])


def _entries(rack: Rack) -> Iterator[str]:
    for host in rack.hosts:
        yield f"- name: {_scalar(host.name)}"
        yield f"  site: {HOSTS_SITE}"
        if host.gpus:
            yield f"  gpus: {host.gpus}"
        if host.host_key is not None:
            yield f"  host_key: {_scalar(host.host_key)}"


def _scalar(text: str) -> str:
    """Return ``text`` as YAML, in quotes when YAML would read something else."""
    from components.model.document import DocumentError, parse_document

    try:
        plain = parse_document(f"it: [{text}]").data["it"] == [text]
    except DocumentError:
        plain = False
    return text if plain else json.dumps(text)


def _indented(lines: Iterable[str], *, by: int = 2) -> Iterator[str]:
    return (f"{' ' * by}{line}" for line in lines)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
