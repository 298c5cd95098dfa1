"""Files whose every value is valid by itself and that cannot work: each is refused, with what to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contract.ports import API_SERVER_PORTS
from tests.model import make
from tests.model.files import only, write


@pytest.mark.parametrize(("port", "program"), API_SERVER_PORTS.items())
def test_the_api_takes_no_port_of_another_program(tmp_path: Path, port: int, program: str) -> None:
    raw = make.minimal()
    raw["control_plane"]["api"]["port"] = port
    problem = only(write(tmp_path, raw))
    assert problem.key == "control_plane.api.port"
    assert f"{port} is the port of {program} on the API servers' machines" in problem.wrong


def test_every_port_of_units_on_api_servers_is_known(root: Path) -> None:
    units = root / "images/rootfs/etc/systemd/system"
    (wanted,) = re.findall(r"^Requires=(.+)$", (units / "longhaul-api.target").read_text(), re.MULTILINE)
    (others,) = re.findall(r"^Wants=(.+)$", (units / "longhaul-api.target").read_text(), re.MULTILINE)
    services = [name for name in f"{wanted} {others}".split() if name.endswith(".service")]
    text = "\n".join((units / name).read_text() for name in services)
    ports = set(re.findall(r"--secure-port=(\d+)|^SocketBindAllow=ipv4:tcp:(\d+)$", text, re.MULTILINE))
    numbers = {int(a or b) for a, b in ports}
    assert numbers
    assert numbers <= API_SERVER_PORTS.keys()
