"""Show who has access, according to the file, the vault and the API servers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from components.model.identity.sign_in import settings
from contract.documents import issuers
from contract.documents.node_answers import ServerIssuers
from contract.documents.refusals import RefusedClients, digest_of
from longhaul.control_plane.refusal_lists import ask, servers
from longhaul.report.text import table
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from components.model import Environment
    from contract.documents.revoked import Revoked
    from longhaul.access.people import PeopleVault

LOAD_S = 20
"""Seconds until kube-apiserver uses issuers that answer: every ten seconds it checks whether all of them have answered
(k8s.io/kubernetes 1.36, pkg/kubeapiserver/authenticator/config.go)."""
ASK = (
    """printf '{"issuers": %s, "revoked": %s}' """
    f'"$(longhaul-node issuers --wait {LOAD_S})" "$(longhaul-node revoked)"'
)


@dataclass(frozen=True, kw_only=True)
class AccessAnswer:
    """A machine's answer to :data:`ASK`."""

    issuers: ServerIssuers
    revoked: RefusedClients


@dataclass(frozen=True, kw_only=True)
class ServerView:
    """Access as one API server reports it."""

    name: str
    issuers: str
    """``those of the file``, or how the server's issuers differ from the file."""
    revoked: str
    """``the latest``, or how the server's list of revoked people differs from the vault."""

    @property
    def is_current(self) -> bool:
        """Return whether the server uses the file's issuers and the vault's list."""
        return (self.issuers, self.revoked) == (RIGHT, LATEST)


RIGHT, LATEST, UNKNOWN = "those of the file", "the latest", "unknown"


def views(people: PeopleVault, revoked: Revoked) -> list[ServerView]:
    """Ask every API server at the same time."""
    digest = issuers.digest_of(issuers.list_of_secret(settings(people.environment)))

    def view(name: str) -> ServerView:
        try:
            answer = ask(AccessAnswer, people, name, ASK)
            return ServerView(
                name=name, issuers=_issuers(answer.issuers, digest), revoked=_revoked(answer.revoked, revoked)
            )
        except CommandError as error:
            return ServerView(name=name, issuers=f"{UNKNOWN}: {error}", revoked=UNKNOWN)

    names = servers(people)
    with ThreadPoolExecutor(max_workers=len(names)) as pool:
        return list(pool.map(view, names))


def _issuers(answer: ServerIssuers, digest: str) -> str:
    if answer.error:
        return f"{UNKNOWN}: {answer.error}"
    if answer.digest != digest:
        return "other issuers: `longhaul access apply` makes it fetch those that the last `longhaul up` wrote"
    return RIGHT if answer.loaded else "fetched, but not used until every issuer has answered"


def _revoked(answer: RefusedClients, revoked: Revoked) -> str:
    if answer.error:
        return f"{UNKNOWN}: {answer.error}"
    if answer.digest != digest_of(revoked.names):
        return "another list: `longhaul access apply` makes it fetch the vault's"
    return LATEST if answer.loaded else "fetched, but not used yet"


def document(environment: Environment, revoked: Revoked, server_views: list[ServerView]) -> dict[str, Any]:
    """Return issuers, revoked people and API servers as plain values for programs."""
    identity = environment.identity
    return {
        "issuers": {
            name: {"url": issuer.url, "audiences": list(issuer.audiences), "names": issuer.username.prefix}
            for name, issuer in identity.issuers.items()
        },
        "groups": {name: rights.model_dump() for name, rights in identity.groups.items()},
        "revoked": [asdict(person) for person in revoked.people],
        "servers": [asdict(server) for server in server_views],
    }


def text(environment: Environment, revoked: Revoked, server_views: list[ServerView]) -> Iterator[str]:
    """Yield issuers, revoked people and API servers as lines for people."""
    identity = environment.identity
    yield "issuers" if identity.issuers else "issuers: none, so nobody signs in"
    if identity.issuers:
        rows = [(name, issuer.username.prefix, issuer.url) for name, issuer in identity.issuers.items()]
        yield from table(("name", "people", "issuer"), rows)
    if identity.groups:
        yield "groups"
        yield from table(("group", "role", "where"), list(_rights(environment)))
    yield "revoked" if revoked.people else "revoked: nobody"
    if revoked.people:
        yield from table(
            ("person", "since", "by"), [(person.name, person.since, person.by) for person in revoked.people]
        )
    yield "API servers"
    yield from table(
        ("server", "list of revoked people", "issuers"),
        [(server.name, server.revoked, server.issuers) for server in server_views],
    )


def _rights(environment: Environment) -> Iterator[tuple[str, str, str]]:
    for group, rights in environment.identity.groups.items():
        if rights.everywhere is not None:
            yield group, rights.everywhere, "everywhere"
        for namespace, role in rights.namespaces.items():
            yield group, role, namespace
