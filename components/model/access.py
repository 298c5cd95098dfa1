"""Check of the administrator's SSH key: every cloud that makes machines with it must take its type and size."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.fault import Fault
from clouds.registry import cloud_of
from components.model.environment import Environment

RSA = "ssh-rsa"


def check_access(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when a site's cloud does not take the administrator's key."""
    key = environment.access.administrator_key
    kind = key.split()[0]
    for name, site in environment.sites.items():
        cloud = cloud_of(site)
        if not cloud.administrator_keys:
            continue
        least = cloud.administrator_keys.get(kind)
        wrong = f"{cloud.title} takes no key of type {kind}" if least is None else _weak(key, least)
        if wrong:
            taken = ", ".join(f"{one} of {bits} bits or more" for one, bits in cloud.administrator_keys.items())
            write = f"one of {taken}, such as what `ssh-keygen -t ed25519` writes into `id_ed25519.pub`"
            yield Fault(at=("access", "administrator_key"), wrong=wrong, write=write, basis=(("sites", name, "kind"),))
            return


def _weak(key: str, least: int) -> str:
    """Return what is wrong with the size of a key; empty when it is large enough. All keys of the other types have one
    size."""
    if not key.startswith(f"{RSA} "):
        return ""
    # Loaded here: hardly anybody has such a key, and the library takes long to load.
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    try:
        read = load_ssh_public_key(key.encode())
    except ValueError:
        return "it cannot be read as an RSA key: is a part of it missing?"
    bits = read.key_size if isinstance(read, RSAPublicKey) else 0
    return f"an RSA key of {bits} bits is too short" if bits < least else ""
