"""Azure's addresses, for machines' programs as well as for the command."""

from __future__ import annotations

SIGN_IN_HOST = "login.microsoftonline.com"
"""Host at which Entra ID issues tokens; its issuers have that host as well."""
SIGN_IN = f"https://{SIGN_IN_HOST}"
MANAGEMENT = "https://management.azure.com"
"""Address of the resource manager, and the resource that tokens for it are for."""
STORAGE = "https://storage.azure.com"
"""Resource that tokens for blobs are for."""
MACHINES = "Microsoft.Compute/virtualMachines"
"""Type of machines."""
BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
"""Type of blobs, in conditions of role assignments and in actions."""
BLOBS_VERSION = "2021-12-02"
"""Version of blobs' interface."""
VAULT = "https://vault.azure.net"
"""Resource that tokens for vaults are for (learn.microsoft.com, "Authentication, requests and responses" of Azure Key
Vault)."""
TOKENS_VARIABLE = "LONGHAUL_AZURE_TOKENS"
"""Variable with the path of a socket that gives tokens, on a machine of the control plane."""
