"""Arguments with which kube-apiserver admits what it admits in an environment."""

from __future__ import annotations

import re
from pathlib import Path

from components.model import Environment, Role, control_machines, plan
from components.render import api_server_machine
from longhaul.toolchain.spec import repository

UNIT = repository() / "images/rootfs/etc/systemd/system/kube-apiserver.service"
CONFIGURATION = "/etc/longhaul/admission.yaml"
FLAGS = (
    r"^  (--(?:enable-admission-plugins|admission-control-config-file|service-account-(?:extend|max)-[a-z-]+"
    r"|tls-cipher-suites|tls-min-version)=\S+)"
)


def guarded_arguments(environment: Environment, folder: Path) -> list[str]:
    """Return the unit's arguments, with the environment's configuration of admission in ``folder``."""
    addresses = plan(environment)
    machine = next(one for one in control_machines(environment, addresses) if one.role is Role.API)
    file = folder / "admission.yaml"
    file.write_text(api_server_machine.files(environment, addresses, machine)[CONFIGURATION].content)
    flags = re.findall(FLAGS, UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    return [flag.replace(CONFIGURATION, str(file)) for flag in flags]
