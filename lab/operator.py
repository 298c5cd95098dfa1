"""People's places in the lab: network namespaces, entered from the host.

``enter CMD…`` runs a command as the operator: in the operator's network, with the lab's name server and the operator's
environment variables, but with the host's files, processes and working directory. ``enter`` replaces itself with the
command, so the command has the terminal, gets the signals and gives the exit code. The command is in the cgroup
``_operator``, so that teardown finds it. ``enter-laptop`` does the same on the operator's laptop, which reaches the
environment only through its VPN. ``enter-company`` does the same, without the operator's variables, in the network
where the company runs its services.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from lab import openvpn
from lab.cgroups import OPERATOR, ControlGroup
from lab.config import LabConfig
from lab.hypervisor.addresses import INTERNET_DNS, AddressRanges
from lab.hypervisor.namespaces import Namespace
from lab.hypervisor.networks import COMPANY, laptop_of, operator_of
from lab.oidc import company, person
from lab.ssh import private_text, public_text
from lab.state import LabError, LabState, default_root, write_atomically

_ENTER = """\
#!/bin/sh
# Run a command {where} of {env}: {path} COMMAND [ARGUMENT...]. Written by the lab, thrown away with it.
set -eu
state={directory}
[ $# -gt 0 ] || {{ echo "usage: $0 COMMAND [ARGUMENT...]" >&2; exit 2; }}
[ "$(id -u)" = 0 ] || {{ echo "$0: this needs root" >&2; exit 1; }}
number() {{ sed -n 's/.*"'"$1"'": *"\\{{0,1\\}}\\([^",}}]*\\).*/\\1/p' "$state/lab.json" 2>/dev/null; }}
pid=$(number pid) started=$(number started) boot=$(number boot_id)
# The 20th field behind the command's closing parenthesis is the start time (proc(5)); a recycled PID has another.
actual=$(sed 's/.*) //' "/proc/${{pid:-none}}/stat" 2>/dev/null | cut -d ' ' -f 20) || actual=
if [ -z "$actual" ] || [ "$actual" != "$started" ] || [ "$boot" != "$(cat /proc/sys/kernel/random/boot_id)" ]; then
  echo "the lab of environment {env} is not running: {make}" >&2
  exit 1
fi
for group in {groups}; do echo $$ > "$group" 2>/dev/null || true; done
exec nsenter --net="/proc/$pid/root{namespace}" unshare --mount --propagation private /bin/sh -c '
  set -eu
  state=$1 variables=$2 resolver=$3; shift 3
  mount --bind "$resolver" "$(readlink -f /etc/resolv.conf)"
  if [ -e /etc/nsswitch.conf ]; then mount --bind "$state/nsswitch.conf" /etc/nsswitch.conf; fi
  # A caching name service of the host would answer from the host, and its systemd-resolved would ask what a VPN says.
  for folder in /run/nscd /run/dbus; do if [ -d $folder ]; then mount -t tmpfs -o mode=755 lab $folder; fi; done
  set -a; . "$variables"; set +a
  exec "$@"
' enter "$state" {variables} {resolver} "$@"
"""


def write_files(
    state: LabState, config: LabConfig, cloud_environment: Mapping[str, str], *, plan: AddressRanges
) -> None:
    """Write ``enter`` and its variants, the operator's variables, and the files that they use. Idempotent."""
    for folder in ("pulumi", "pulumi-home", state.laptop.name):
        (state.directory / folder).mkdir(exist_ok=True)
    ControlGroup.of(state, OPERATOR).create()
    public = f"nameserver {INTERNET_DNS}\n"
    write_atomically(state.resolver, public, mode=0o644)
    # A resolver on the laptop, if somebody runs one, may query names of some zones inside a VPN.
    write_atomically(state.laptop_resolver, f"nameserver 127.0.0.1\n{public}", mode=0o644)
    write_atomically(state.directory / "nsswitch.conf", name_services(), mode=0o644)
    variables = {**cloud_environment, **_pulumi(state)}
    if config.stack:
        variables["LONGHAUL_SSH_KEY"] = str(state.ssh_key)
    if config.company:
        variables.update(person.variables(company.AUTHORITY, company.PEOPLE))
    write_atomically(state.operator_env, _assignments(variables, _path(config)))
    # Files that programs keep between runs belong to the laptop, not to the user of the lab.
    folders = {"XDG_CONFIG_HOME": str(state.laptop / "config"), "XDG_STATE_HOME": str(state.laptop / "state")}
    folders["LONGHAUL_LAB_LAPTOP"] = "yes"
    write_atomically(state.laptop_env, _assignments({**variables, **folders}, [*_path(config), str(openvpn.folder())]))
    for path, where, place, environment, resolver in (
        (state.enter, "as the operator", operator_of(plan), state.operator_env, state.resolver),
        (state.enter_laptop, "on the laptop", laptop_of(plan), state.laptop_env, state.laptop_resolver),
        (state.enter_company, "at the company", COMPANY, Path("/dev/null"), state.resolver),
    ):
        text = _ENTER.format(
            env=state.env,
            where=where,
            path=path,
            directory=shlex.quote(str(state.directory)),
            groups=" ".join(shlex.quote(file) for file in ControlGroup.of(state, OPERATOR).procs_files()),
            namespace=place.path,
            variables=shlex.quote(str(environment)),
            resolver=shlex.quote(str(resolver)),
            make=state.make("lab"),
        )
        write_atomically(path, text, mode=0o755)


def _assignments(variables: Mapping[str, str], folders: Sequence[str]) -> str:
    """Return a file of variables for a shell; PATH has ``folders`` first."""
    lines = [f"{name}={shlex.quote(value)}" for name, value in sorted(variables.items())]
    lines.append(f"PATH={':'.join(map(shlex.quote, folders))}:$PATH")
    return "\n".join(lines) + "\n"


def authorized_key(state: LabState) -> str:
    """Return the public half of the operator's SSH key in the form of ``authorized_keys``; make the key when there is
    none."""
    if not state.ssh_key.exists():
        state.ssh_key.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(state.ssh_key, private_text(Ed25519PrivateKey.generate()))
    key = load_ssh_private_key(state.ssh_key.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise LabError(f"{state.ssh_key} is no ed25519 key: remove it, and `{state.make('lab-down')}`")
    return f"{public_text(key)} operator@{state.env}"


def _pulumi(state: LabState) -> dict[str, str]:
    return {
        "PULUMI_BACKEND_URL": f"file://{state.directory / 'pulumi'}",
        "PULUMI_HOME": str(state.directory / "pulumi-home"),
        # The lab's secrets are removed with it; a real environment has a passphrase or a key of its own.
        "PULUMI_CONFIG_PASSPHRASE": "lab",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_STACK": state.env,
        "LONGHAUL_LAB": state.env,
    }


def _path(config: LabConfig) -> list[str]:
    project = default_root().parent
    folders = [str(project / "lab" / "providers" / "bin"), config.tools, str(Path(sys.executable).parent)]
    return [folder for folder in folders if folder]


def name_services(path: Path = Path("/etc/nsswitch.conf")) -> str:
    """Return the host's nsswitch.conf, changed to look names up in files and DNS only (other services would ask the
    host's resolver)."""
    text = path.read_text() if path.exists() else ""
    return re.sub(r"(?m)^hosts:.*\n?", "", text).rstrip("\n") + "\nhosts: files dns\n"


class Forwarder:
    """Forwards TCP connections of a listener to one address, connecting from the operator's namespace."""

    def __init__(self, target: tuple[str, int] | None, *, place: Namespace) -> None:
        self._target = target
        self._place = place
        self._connections: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection; close it at once if the target cannot be reached."""
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        far_writer: asyncio.StreamWriter | None = None
        try:
            if self._target is not None:
                async with asyncio.timeout(10):
                    far = await self._place.connect(*self._target)
                far_reader, far_writer = await asyncio.open_connection(sock=far)
                await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        except (OSError, TimeoutError):
            writer.transport.abort()
        finally:
            writer.close()
            if far_writer is not None:
                far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction, and pass on its end; the other direction may continue."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.transport.abort()
        raise
