"""Lifetimes that are flags of units too."""

from __future__ import annotations

from pathlib import Path

from contract.lifetimes import NODE_CERTIFICATE_DAYS, SERVICE_ACCOUNT_TOKEN_HOURS


def test_flags_of_units_are_these(root: Path) -> None:
    units = root / "images/rootfs/etc/systemd/system"
    servers = (units / "kube-apiserver.service").read_text(encoding="utf-8")
    assert f"--service-account-max-token-expiration={SERVICE_ACCOUNT_TOKEN_HOURS}h" in servers
    signer = (units / "kube-node-signer.service").read_text(encoding="utf-8")
    assert f"--cluster-signing-duration={NODE_CERTIFICATE_DAYS * 24}h" in signer
