"""Before the kubelet starts, remove a record of assigned CPUs that would keep it from starting.

At every start, a kubelet ends at once if its CPU manager policy, its reserved CPUs or its CPUs differ from its state
file (k8s.io/kubernetes v1.36, pkg/kubelet/cm/cpumanager: ``state_checkpoint.go`` restoreState, ``policy_static.go``
validateState). kubernetes.io, "Control CPU Management Policies on the Node", tells people to drain the node and delete
the file.

Only containers of Guaranteed pods get CPUs of their own. If no process of such a pod is left, for example after a boot,
the record is outdated, and this program deletes the file. If a process is left, it keeps its CPUs: a drop-in makes the
kubelet keep its former policy until a later start.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kubelet.pod_processes import CGROUPS, GUARANTEED, running

NONE = "none"
"""The kubelet's policy if its configuration names none."""

POLICY = re.compile(r"^cpuManagerPolicy: *(\w+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class KubeletPaths:
    """Files and folders that the program reads and writes."""

    configuration: Path = Path("/etc/longhaul/kubelet.yaml")
    state: Path = Path("/var/lib/kubelet/cpu_manager_state")
    kept: Path = Path("/etc/longhaul/kubelet.conf.d/50-cpu-policy.conf")
    """Drop-in, which overrides the configuration while it exists."""
    cgroups: Path = CGROUPS


def settle(paths: KubeletPaths) -> str:
    """Make the kubelet able to start, and return a description of the result. Raise ``OSError`` if a file cannot be
    read or written."""
    paths.kept.unlink(missing_ok=True)
    if not paths.state.exists():
        return "nothing is remembered"
    if not running(GUARANTEED, cgroups=paths.cgroups):
        paths.state.unlink()
        return "no Guaranteed pod runs: the processors are given out anew"
    match = POLICY.search(paths.configuration.read_text())
    wanted = match[1] if match else NONE
    had = remembered(paths.state)
    if had == wanted:
        return f"policy {had}, as before"
    _write(paths.kept, kept(had))
    return f"goes on with CPU manager policy {had} until no Guaranteed pod runs when it starts; then it is {wanted}"


def remembered(state: Path) -> str:
    """Return the policy with which the kubelet wrote its state file. Raise ``OSError`` if the file is malformed."""
    try:
        return str(json.loads(state.read_text())["policyName"])
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(
            f"{state} is not what a kubelet writes ({error!r}): drain this node and delete the file"
        ) from None


def kept(policy: str) -> str:
    """Return the drop-in that keeps ``policy``. The configured options belong to the other policy, and the policy
    ``none`` refuses options, so null removes them (the kubelet merges drop-ins by RFC 7396)."""
    value = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": policy,
        "cpuManagerPolicyOptions": None,
    }
    return json.dumps(value) + "\n"


def _write(path: Path, content: str) -> None:
    """Replace a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The kubelet reads only files whose names end with .conf.
    new = path.with_name(f".{path.name}.new")
    new.write_text(content)
    os.replace(new, path)


def main() -> int:
    """Return 0 if the kubelet can start, otherwise 1."""
    try:
        print(settle(KubeletPaths()), flush=True)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
