"""Checks of access: the ranges of operators, the administrator's key (every cloud that makes machines
must accept its type and size), and the identities that AWS trusts."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault
from clouds.base.ranges import PRIVATE
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.hosts.ssh_keys import key_fault
from components.model.network.address_plan import plan
from components.model.network.site_ranges import plan_errors

RSA = "ssh-rsa"

INSIDE = "the private addresses of machines that people and CI use, such as 10.66.0.200/32"
"""Advice for a range that cannot belong to operators inside."""


def check_operators_inside(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each range of operators inside that is not private, or in which pods have addresses. A single
    address belongs to one machine and is allowed: no pod can get it while the machine has it."""
    if plan_errors(environment):
        return
    sites = plan(environment).sites
    for index, range_ in enumerate(environment.access.operators_inside):
        pods = [name for name, site in sites.items() if site.pods.overlaps(range_)]
        if not any(range_.subnet_of(private) for private in PRIVATE):
            wrong = f"{range_} is not private"
        elif pods and range_.prefixlen < range_.max_prefixlen:
            wrong = f"{range_} holds addresses of pods of {pods[0]}"
        else:
            continue
        yield Fault(at=("access", "operators_inside", index), wrong=wrong, write=INSIDE)


def check_access(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when a site's cloud does not accept the administrator's key."""
    key = environment.access.administrator_key
    kind = key.split()[0]
    for name, site in environment.sites.items():
        cloud = cloud_of(site)
        if not cloud.administrator_keys:
            continue
        least = cloud.administrator_keys.get(kind)
        wrong = f"{cloud.title} does not accept a key of type {kind}" if least is None else _weak(key, least)
        if wrong:
            taken = ", ".join(
                f"{algorithm} of {bits} bits or more" for algorithm, bits in cloud.administrator_keys.items()
            )
            write = f"one of {taken}, such as what `ssh-keygen -t ed25519` writes into `id_ed25519.pub`"
            yield Fault(at=("access", "administrator_key"), wrong=wrong, write=write, basis=(("sites", name, "kind"),))
            return
    if wrong := key_fault(key):
        write = "the whole line that `ssh-keygen -t ed25519` writes into `id_ed25519.pub`"
        yield Fault(at=("access", "administrator_key"), wrong=wrong, write=write)


def check_identity(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when the existing identity provider is not for the control plane's tenant."""
    given = environment.access.aws_identity_provider
    name = environment.control_plane.site
    site = environment.sites.get(name)
    issuer = None if site is None else cloud_of(site).token_issuer(site)
    if given is None or issuer is None:
        return
    head, _, tail = given.partition(":oidc-provider/")
    if tail != issuer:
        wrong = f"{tail!r} is not the issuer of the control plane's tenant"
        basis = (("sites", name, "tenant"),)
        write = f"{head}:oidc-provider/{issuer}"
        yield Fault(at=("access", "aws_identity_provider"), wrong=wrong, write=write, basis=basis)


def check_boundary(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when the permissions boundary is of another account than a site: a role's boundary is a policy of
    its own account (IAM API, ``CreateRole``)."""
    given = environment.access.aws_permissions_boundary
    accounts = {
        account: name for name, site in environment.sites.items() if (account := getattr(site, "account", None))
    }
    if given is None or len(accounts) != 1 or given.split(":")[4] in accounts:
        return
    [(account, name)] = accounts.items()
    wrong = f"a role of the account {account} cannot be bounded by a policy of another"
    write = ":".join((*given.split(":")[:4], account, given.split(":")[5]))
    at, basis = ("access", "aws_permissions_boundary"), (("sites", name, "account"),)
    yield Fault(at=at, wrong=wrong, write=write, basis=basis)


def _weak(key: str, least: int) -> str:
    """Return the fault in the size of a key; empty when it is large enough. Keys of other types have a fixed size."""
    if not key.startswith(f"{RSA} "):
        return ""
    # Imported here: few people have such a key, and the library loads slowly.
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    try:
        read = load_ssh_public_key(key.encode())
    except ValueError:
        return "it cannot be read as an RSA key: is a part of it missing?"
    bits = read.key_size if isinstance(read, RSAPublicKey) else 0
    return f"an RSA key of {bits} bits is too short" if bits < least else ""
