"""Notes on a written environment: what it still lacks, and the next commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longhaul.init.answers import Answers
from longhaul.init.document import gpus, hosts_name, pools
from longhaul.init.images import kind


def next_commands(answers: Answers) -> tuple[tuple[str, str], ...]:
    """Return the next commands, each with its purpose."""
    env = f"--env {answers.name}"
    return (
        (f"longhaul plan {env}", "what would be made; needs no account"),
        _second(env, tuple(_bakes(answers))),
        (f"longhaul up {env}", "docs/getting-started.md says what it needs before"),
    )


def _second(env: str, bakes: Sequence[tuple[str, str]]) -> tuple[str, str]:
    if not bakes:
        return f"longhaul validate {env}", "after every change of the file"
    site, wanted = bakes[0]
    option = "" if wanted == "node" else f" --kind {wanted}"
    more = f"; {bakes[1][0]} needs one too" if len(bakes) > 1 else ""
    return f"longhaul image build {env} --site {site}{option}", f"its id goes into the file{more}"


def _bakes(answers: Answers) -> Iterator[tuple[str, str]]:
    """Yield site and kind of each image that has to be baked."""
    if answers.azure.image is None:
        yield answers.azure.region, kind(gpus(answers.azure.pool))
    if answers.aws is not None and answers.aws.image is None:
        yield answers.aws.region, kind(gpus(answers.aws.pool))


def notes(answers: Answers) -> Iterator[str]:
    """Yield notes on what the environment lacks, and on what may surprise."""
    rack = answers.rack
    if rack is not None and None in [one.host_key for one in rack.gateways] + [one.host_key for one in rack.hosts]:
        yield "SSH host keys of hosts are missing: nothing is done to a host without one (docs/hosts.md)"
    if rack is not None and not rack.hosts:
        yield f"no host is listed yet: append them to stacks/{hosts_name(answers)}"
    if not pools(answers) and (rack is None or not rack.hosts):
        yield "it has no node yet, so no pod runs on it: add a pool or hosts"
    if answers.destroyable:
        yield "`longhaul destroy` may take it down: remove `destroyable: true` before there is anything to lose"
