"""Before the kubelet starts, make sure that its record of assigned CPUs does not keep it from starting.

A kubelet whose CPU manager policy, reserved CPUs or CPUs differ from its state file ends at once, at every start
(k8s.io/kubernetes v1.36, pkg/kubelet/cm/cpumanager: ``state_checkpoint.go`` restoreState, ``policy_static.go``
validateState). kubernetes.io, "Control CPU Management Policies on the Node", tells people to drain the node and delete
the file. Only containers of Guaranteed pods ever get CPUs of their own. So when no process of such a pod is left (after
a boot, or once they have ended), nothing in the record is true any more, and the file is deleted. When one is left, it
keeps its CPUs: a drop-in makes the kubelet keep its former policy until a later start.
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
"""Policy of the kubelet when its configuration names none."""

POLICY = re.compile(r"^cpuManagerPolicy: *(\w+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class KubeletPaths:
    """Files and folders that are read and written."""

    configuration: Path = Path("/etc/longhaul/kubelet.yaml")
    state: Path = Path("/var/lib/kubelet/cpu_manager_state")
    kept: Path = Path("/etc/longhaul/kubelet.conf.d/50-cpu-policy.conf")
    """Drop-in; overrides the configuration while it exists."""
    cgroups: Path = CGROUPS


def settle(paths: KubeletPaths) -> str:
    """Make the kubelet able to start. Return a description of the change; raise ``OSError`` when it cannot be made."""
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
    """Return the policy under which the file was written; raise ``OSError`` when the file is not the kubelet's."""
    try:
        return str(json.loads(state.read_text())["policyName"])
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(
            f"{state} is not what a kubelet writes ({error!r}): drain this node and delete the file"
        ) from None


def kept(policy: str) -> str:
    """Return the drop-in. The configured options belong to the other policy, and ``none`` refuses any, so null removes
    them (the kubelet merges by RFC 7396)."""
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
    """Return 0 when the kubelet can start."""
    try:
        print(settle(KubeletPaths()), flush=True)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
