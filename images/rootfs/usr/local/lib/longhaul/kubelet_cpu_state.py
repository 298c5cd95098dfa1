#!/usr/bin/env python3
"""Before the kubelet starts: see that what it remembers of processors it gave away does not keep it from starting.

A kubelet whose CPU manager policy, reservation or processors are others than its state file's ends at once, for ever
(k8s.io/kubernetes v1.36, pkg/kubelet/cm/cpumanager: ``state_checkpoint.go`` restoreState, ``policy_static.go``
validateState), and kubernetes.io, "Control CPU Management Policies on the Node", has people drain the node and delete
the file. Only containers of Guaranteed pods are ever given processors of their own. So where no process of such a pod
is left (after a boot, or once they have ended), nothing is remembered that is still true, and the file goes. Where one
is, its processors stay its own: the kubelet goes on with the policy it had, which a drop-in tells it, until it starts
another time.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from pod_processes import CGROUPS, GUARANTEED, running

NONE = "none"
"""The kubelet's policy when its configuration names none."""

POLICY = re.compile(r"^cpuManagerPolicy: *(\w+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Paths:
    """What is looked at and written."""

    configuration: Path = Path("/etc/longhaul/kubelet.yaml")
    state: Path = Path("/var/lib/kubelet/cpu_manager_state")
    kept: Path = Path("/etc/longhaul/kubelet.conf.d/50-cpu-policy.conf")
    """Beats the configuration while it is there."""
    cgroups: Path = CGROUPS


def settle(paths: Paths) -> str:
    """Do what has to be done; what was done, in words. ``OSError`` when it cannot be."""
    paths.kept.unlink(missing_ok=True)
    if not paths.state.exists():
        return "nothing is remembered"
    if not running(GUARANTEED, cgroups=paths.cgroups):
        paths.state.unlink()
        return "no Guaranteed pod runs: the processors are given out anew"
    found = POLICY.search(paths.configuration.read_text())
    wanted = found[1] if found else NONE
    had = remembered(paths.state)
    if had == wanted:
        return f"policy {had}, as before"
    _write(paths.kept, kept(had))
    return f"goes on with CPU manager policy {had} until no Guaranteed pod runs when it starts; then it is {wanted}"


def remembered(state: Path) -> str:
    """The policy that the file was written under; ``OSError`` when the file is none of the kubelet's."""
    try:
        return str(json.loads(state.read_text())["policyName"])
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(
            f"{state} is not what a kubelet writes ({error!r}): drain this node and delete the file"
        ) from None


def kept(policy: str) -> str:
    """The drop-in. Options are the other policy's: null takes them out (the kubelet merges by RFC 7396), since ``none``
    refuses any."""
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
    # The kubelet reads only what ends with .conf.
    new = path.with_name(f".{path.name}.new")
    new.write_text(content)
    os.replace(new, path)


def main() -> int:
    """0 when the kubelet can start."""
    try:
        print(settle(Paths()), flush=True)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
