"""Checks of the place of the engine's state, and of the encryption of its secrets (docs/getting-started.md, 4)."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from clouds.base.findings import Finding, ok, problem, warning
from longhaul.doctor.target import DoctorTarget

BACKEND = "PULUMI_BACKEND_URL"
PASSPHRASE = ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")


def backend(target: DoctorTarget) -> Iterator[Finding]:
    """Check the backend that the engine would use: from the variable, the project file or the login, or else Pulumi's
    own service if there is a token."""
    url = target.backend.url
    if not url and target.environ.get("PULUMI_ACCESS_TOKEN"):
        yield ok("the state is kept by Pulumi's service", "PULUMI_ACCESS_TOKEN")
    elif not url:
        do = f"set {BACKEND} (docs/getting-started.md, 4), or `pulumi login`"
        yield problem("no backend is chosen for the state", BACKEND, do=do)
    elif target.backend.folder is not None and not target.lab:
        what = "the state is kept in a folder of this machine: nobody else can run `up`, and it is lost with the disk"
        yield warning(
            what, BACKEND, do="use Azure Blob or S3 for an environment that is to stay (docs/getting-started.md, 4)"
        )
    else:
        parts = urlsplit(url)
        yield ok(f"the state is kept in {parts.scheme}://{parts.hostname or ''}{parts.path}", BACKEND)


def encryption(target: DoctorTarget) -> Iterator[Finding]:
    """Check that secrets are encrypted by a cloud's key, named in the stack file, or by a passphrase in the
    environment."""
    key = f"secretsprovider in {target.file}"
    provider = str(target.stack.get("secretsprovider") or "")
    if provider and provider != "passphrase":
        yield ok(f"secrets in the state are encrypted with {provider.partition('?')[0]}", key)
        return
    chosen = next((name for name in PASSPHRASE if target.environ.get(name) is not None), None)
    begun = bool(target.stack.get("encryptionsalt"))
    if chosen is None:
        what = (
            "the state is encrypted with a passphrase, which is not set here"
            if begun
            else ("nothing is chosen yet to encrypt the secrets in the state")
        )
        do = f"set {PASSPHRASE[1]}" if begun else f"set {PASSPHRASE[1]}, or make the stacks with a cloud's key"
        yield problem(what, PASSPHRASE[1], do=f"{do} (docs/getting-started.md, 4)")
    else:
        yield ok("secrets in the state are encrypted with a passphrase, which is set", chosen)
