"""Notes on a new environment: what it still lacks, and the next commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clouds.base.phrases import word_list
from longhaul.init.answers import Answers
from longhaul.init.document import hosts_name, image_kind


def next_commands(answers: Answers) -> tuple[tuple[str, str], ...]:
    """Return the next commands, each with its purpose."""
    env = f"--env {answers.name}"
    return (
        (f"longhaul validate {env}", "after every change of the file"),
        (f"longhaul plan {env}", "show what would be made; needs no account"),
        (f"longhaul doctor {env}", "find what the clouds lack: permissions, quotas, machine types"),
        *_image(env, tuple(_bakes(answers))),
        (f"longhaul up {env}", "docs/getting-started.md has its preconditions"),
    )


def _image(env: str, bakes: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the command that bakes the first image, with a purpose that names the other images."""
    if not bakes:
        return
    site, wanted = bakes[0]
    option = "" if wanted == "node" else f" --kind {wanted}"
    others = [name for name, _ in bakes[1:]]
    more = f"; {word_list(others)} need{'s' if len(others) == 1 else ''} one too" if others else ""
    yield f"longhaul image build {env} --site {site}{option}", f"its id goes into the file{more}"


def _bakes(answers: Answers) -> Iterator[tuple[str, str]]:
    """Yield site and kind of each image that has to be baked."""
    for site in answers.places.clouds:
        if site.image is None:
            yield site.region, image_kind(answers.places, site)


def notes(answers: Answers) -> Iterator[str]:
    """Yield notes on what the environment lacks, and on what may surprise."""
    keys = [gateway.host_key for rack in answers.places.racks for gateway in rack.gateways]
    if None in (*keys, *(host.host_key for host in answers.places.hosts)):
        yield (
            "SSH host keys of hosts are missing: a host without a key is left alone. "
            f"`longhaul hosts scan-keys --env {answers.name}` shows and pins them"
        )
    if answers.places.racks and not answers.places.hosts:
        yield f"no host is listed yet: append them to stacks/{hosts_name(answers)}"
    if not answers.places.pools and not answers.places.hosts:
        yield "it has no node yet, so no pod can run: add a pool or hosts"
    if answers.destroyable:
        yield "`longhaul destroy` may take it down: remove `destroyable: true` before there is anything to lose"
