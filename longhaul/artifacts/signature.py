"""Signatures over a depot's lists: OpenPGP, made by the builder's gpg and checked by gpgv, which apt uses too.

A signature lies beside its file, as ``NAME.gpg``. Two kinds of files have a signature: ``SHA256SUMS``, which covers
every other file, and each archive's ``Release``, which apt reads. No list contains signatures: two builders with the
same sources make the same depot with different signatures.

Nodes check with a separate program (``containerd/signed_depot.py`` in ``images/rootfs``), which runs without this
package; ``tests/redteam/test_depot.py`` tests both with the same cases.
"""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from longhaul.toolchain.errors import SetupError

SUFFIX = ".gpg"
_SIGNATURE = re.compile(r"(SHA256SUMS|debian/[^/]+/Release)\.gpg")
_GOOD = frozenset(("GOODSIG", "VALIDSIG"))
_BAD = frozenset(("BADSIG", "ERRSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG"))
"""Verdicts of gpgv that reject a signature (GnuPG, doc/DETAILS). gpgv exits with 0 for an expired key, too."""


class SignatureError(SetupError):
    """A signature is missing or invalid."""


def is_signature(name: str) -> bool:
    """Return whether a path in a depot is a signature."""
    return _SIGNATURE.fullmatch(name) is not None


def sign(path: Path, *, key: str, home: Path | None = None) -> None:
    """Sign a file with gpg's key ``key``, and write the signature beside the file. ``home`` is gpg's folder, by default
    the user's. The private key stays in gpg, which may ask for a passphrase or a smart card.

    Raise :class:`SetupError` when gpg does not sign.
    """
    if shutil.which("gpg") is None:
        raise SetupError("this machine has no gpg, which signs depots: install it (Debian and Ubuntu: gnupg)")
    where = ["--homedir", str(home)] if home else []
    # Armored: apt accepts no other signature beside a Release.
    argv = ["gpg", *where, "--batch", "--yes", "--quiet", "--armor", "--local-user", key]
    argv += ["--output", f"{path}{SUFFIX}", "--detach-sign", str(path)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        message = done.stderr.strip() or "nothing"
        raise SetupError(
            f"gpg does not sign with {key!r}: `gpg --list-secret-keys` shows its keys. Its output:\n{message}"
        )


def public_key(name: str) -> str:
    """Return the public half of gpg's key ``name``, in the form of the environment's file. Raise :class:`SetupError`
    when gpg has no such key."""
    done = subprocess.run(["gpg", "--batch", "--export", name], capture_output=True, check=False)
    if done.returncode != 0 or not done.stdout:
        raise SetupError(f"gpg has no key {name!r}: `gpg --list-keys` shows its keys")
    return base64.b64encode(done.stdout).decode("ascii")


def try_key(name: str, key: str) -> None:
    """Sign a test file with gpg's key ``name``, and check it against the public keys in ``key``. Raise
    :class:`SetupError` when gpg does not sign, or when none of those keys made the signature."""
    with tempfile.TemporaryDirectory(prefix="longhaul-sign-") as folder:
        path = Path(folder) / "trial"
        path.write_bytes(b"longhaul depot build --sign\n")
        sign(path, key=name)
        signature = path.with_name(f"trial{SUFFIX}").read_bytes()
        try:
            check(path.read_bytes(), signature, key)
        except SignatureError as error:
            raise SetupError(
                f"a file that gpg signed with {name!r} {error}: machines would refuse the depot"
            ) from error


def check(content: bytes, signature: bytes, key: str) -> None:
    """Check a detached signature against the public keys in ``key``, in the form of the environment's file
    (``depots.key``). Raise :class:`SignatureError` unless one of these keys made the signature."""
    if shutil.which("gpgv") is None:
        raise SetupError("this machine has no gpgv, which checks signatures: install it (Debian and Ubuntu: gpgv)")
    with tempfile.TemporaryDirectory(prefix="longhaul-gpgv-") as name:
        folder = Path(name)
        for file, bytes_ in (("key", base64.b64decode(key)), ("signature", signature), ("content", content)):
            (folder / file).write_bytes(bytes_)
        argv = ["gpgv", "--status-fd", "1", "--weak-digest", "SHA1", "--homedir", name, "--keyring", f"{name}/key"]
        argv += [f"{name}/signature", f"{name}/content"]
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    statuses = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("[GNUPG:] ")}
    if done.returncode != 0 or not statuses >= _GOOD or statuses & _BAD:
        raise SignatureError(_reason(statuses))


def _reason(statuses: set[str]) -> str:
    if "NO_PUBKEY" in statuses:
        return "is signed by a key that is not the builder's"
    if "BADSIG" in statuses:
        return "was changed after it was signed"
    if statuses & {"EXPKEYSIG", "REVKEYSIG", "EXPSIG"}:
        return "is signed by a key, or with a signature, that has expired or was revoked"
    return "has no signature that gpgv can read"
