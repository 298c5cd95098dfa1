"""Access of a program on a control plane's machine to Azure: the variable ``LONGHAUL_AZURE_TOKENS`` of its unit names
the socket that gives tokens (:mod:`clouds.azure.tokens`)."""

from __future__ import annotations

from clouds.base.machine_access import OwnAccess


def use(_access: OwnAccess, /) -> None:
    """Do nothing: the credential is found as on any other machine."""
