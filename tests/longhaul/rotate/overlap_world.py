"""A vault, machines that have its secrets only when told to fetch, and a clock; what was signed must be believed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import Any

from clouds.base.control import CommandOutput
from components.control_plane import issuing
from components.control_plane.signing_keys import SigningKeys
from components.model import Environment, authorities, certificates, control_machines, plan
from components.model.control_plane.machines import Machine, Role
from components.model.identity.sign_in import settings
from components.model.secrets.certificates import ADMINISTRATORS, ETCD_CLIENT, FRONT_PROXY, KUBERNETES, NODES
from components.model.secrets.rotations import AUTHORITY, SERVICE_ACCOUNTS, STEADY, RotationProgress, parse_progress
from components.model.secrets.vault import ISSUERS, QUARANTINE, REVOKED, ROTATIONS, SIGNING_KEYS
from components.model.sites.places import place_of
from components.render import api_server_machine, etcd
from contract.documents.quarantine import Quarantine
from contract.documents.revoked import Revoked
from contract.documents.secret_files import SecretFile
from longhaul.rotate import servers
from longhaul.rotate.authorities import AuthorityRotation
from longhaul.rotate.overlap import Overlap, RotationStore, RotationSubject
from longhaul.rotate.published import PUBLISHED
from longhaul.rotate.service_accounts import ServiceAccounts

certificates_in = cache(issuing.certificates_in)
digests = cache(servers.digests)
"""A world looks at the same few texts again and again."""
_PLACE = re.compile(r"\$\{([a-z0-9-]+)(?::([a-z]+))?\}")
ACCOUNTS, MEMBERS, CLIENTS = "service-account.pem", "etcd-ca.crt", "etcd-client-ca.crt"
SERVERS = "kubernetes-ca.crt"
STARTED = {Role.API: (ACCOUNTS, MEMBERS, SERVERS), Role.ETCD: (MEMBERS, CLIENTS), Role.EVENTS: (MEMBERS, CLIENTS)}
"""Files that programs read only at their start, by their machines' role."""
Files = Mapping[Role, tuple[str, ...]]
BELIEVES: Mapping[str, Files] = {
    ADMINISTRATORS: {Role.API: ("client-ca.crt",)},
    NODES: {Role.API: ("client-ca.crt", "nodes-ca.crt")},
    FRONT_PROXY: {Role.API: ("front-proxy-ca.crt",)},
    KUBERNETES: {Role.API: (SERVERS, "client-ca.crt")},
    Role.ETCD: {Role.API: (MEMBERS,), Role.ETCD: (MEMBERS, CLIENTS)},
    Role.EVENTS: {Role.API: (MEMBERS,), Role.EVENTS: (MEMBERS, CLIENTS)},
    ETCD_CLIENT: {Role.ETCD: (CLIENTS,), Role.EVENTS: (CLIENTS,)},
}
"""Files in which machines have an authority's certificate, by authority."""
SHOWS: Mapping[str, Files] = {
    NODES: {Role.API: ("nodes-authority.pem",)},
    FRONT_PROXY: {Role.API: ("front-proxy-client.pem",)},
    KUBERNETES: {Role.API: ("apiserver.pem", "kubelet-client.pem", "controller-manager.pem", "join.pem")},
    Role.ETCD: {Role.ETCD: ("member.pem", "client.pem")},
    Role.EVENTS: {Role.EVENTS: ("member.pem", "client.pem")},
    ETCD_CLIENT: {Role.API: ("etcd-client.pem",)},
}
"""Files with which machines sign, or show what it has signed."""
PUBLISHES = {"client-ca-file": "client-ca.crt", "requestheader-client-ca-file": "front-proxy-ca.crt"}
"""Files of which API servers publish the certificates, by field of the ConfigMap."""


class KilledError(Exception):
    """The run is killed here."""


@dataclass
class Server:
    """A machine's files, with the times at which it got them."""

    machine: Machine
    held: tuple[SecretFile, ...]
    """Files that it makes of secrets."""
    history: list[tuple[datetime, dict[str, str]]] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)
    """Files as its programs were started with them, of those that they read only then."""

    @property
    def files(self) -> dict[str, str]:
        return self.history[-1][1]

    @property
    def wanted(self) -> dict[str, str]:
        """Files with which its programs would start now."""
        return {name: self.files[name] for name in STARTED[self.machine.role]}

    def start(self) -> None:
        self.started = self.wanted

    def may_use(self, name: str, *, since: datetime) -> set[str]:
        """Return the contents of a file that programs may use when they read it again since then."""
        if name in self.started:
            return {self.started[name]}
        before = [files for time, files in self.history if time <= since][-1:]
        return {files[name] for files in [*before, *(files for time, files in self.history if time > since)]}


class World:
    """An environment in the midst of a rotation."""

    def __init__(self, environment: Environment, what: str, first: Mapping[str, str] | None = None) -> None:
        """``first``: the vault's secrets; if left out, they are made."""
        self.environment, self.what = environment, what
        self.now = datetime(2026, 11, 1, tzinfo=UTC)
        self.steps, self.dies_at, self.deaf = 0, -1, set[str]()
        self.scripts: list[str] = []
        self.starts = Counter[str]()
        """Number of times that a machine's programs were started anew."""
        self.endless: list[dict[str, Any]] = []
        self.told: list[str] = []
        self.vault = dict(first or first_vault(environment))
        self.signed: dict[str, datetime] = {}
        """Time at which a key signed last, by the digest of its public half."""
        self.servers = {
            one.name: Server(one, _secret_files(environment, one))
            for one in control_machines(environment, plan(environment))
        }
        self.published: dict[str, str] = {}
        for server in self.servers.values():
            self.fetch(server)
            server.start()
        self._publish()

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.dies_at:
            raise KilledError

    def fetch(self, server: Server) -> None:
        """Have a server fetch as its timer does, which starts nothing anew."""

        def value(match: re.Match[str]) -> str:
            text = self.vault[match[1]]
            return str(json.loads(text)[match[2]]) if match[2] else text

        files = {file.path.rpartition("/")[2]: _PLACE.sub(value, file.content) for file in server.held}
        server.history.append((self.now, files))

    def secret(self, _place: Any, _vault: str, name: str) -> str | None:
        return self.vault.get(name)

    def set_secret(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self.step()
        assert value, "a vault takes no empty value"
        self.vault[name] = value
        self.check()

    def run_command(self, _place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        self.step()
        assert timeout_s > 0
        self.scripts.append(script)
        server = self.servers[machine]
        if "--take-over" in script and machine not in self.deaf:
            self.fetch(server)
            self.check()
            if server.started != server.wanted:
                self.starts[machine] += 1
            server.start()
        self._publish()
        self.check()
        answer = {
            "files": {name: digests(text) for name, text in server.files.items()},
            "unused": [] if server.started == server.wanted else ["kube-apiserver.service"],
            "rotations": json.loads(server.files.get("rotations.json", "null")),
            "error": "",
        }
        return CommandOutput(stdout=json.dumps(answer), stderr="")

    def items(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        assert (path, query) == ("/api/v1/secrets", {"fieldSelector": "type=kubernetes.io/service-account-token"})
        yield from self.endless

    def find(self, path: str) -> dict[str, Any] | None:
        assert path == PUBLISHED
        return {"metadata": {"resourceVersion": str(self.steps)}, "data": dict(self.published)}

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.step()
        assert (path, body["metadata"]) == (PUBLISHED, {"resourceVersion": str(self.steps - 1)})
        self.published |= body["data"]
        self._publish()
        return {}

    def _publish(self) -> None:
        """Have every server add what its running programs may believe, as kube-apiserver does."""
        for kind, name in PUBLISHES.items():
            found = certificates_in(self.published.get(kind, ""))
            for server in self.servers.values():
                if server.machine.role is not Role.API:
                    continue
                for text in server.may_use(name, since=self._since()):
                    found += certificates_in(text)
            self.published[kind] = "".join(dict.fromkeys(found))

    def sleep(self, seconds: float) -> None:
        self.step()
        self.now += timedelta(seconds=seconds)

    def check(self) -> None:
        """Each machine believes whatever any machine, or the vault, may have signed and still lives."""
        signing = self._signing()
        self.signed |= dict.fromkeys(signing, self.now)
        alive = signing | {key for key, time in self.signed.items() if self.now - time < self.subject.signed_lifetime}
        for name, server in self.servers.items():
            for believed in self._believed(server):
                assert alive <= believed, f"{name} does not believe all that is signed"
        self.check_others(signing)

    def check_others(self, signing: set[str]) -> None:
        """For those who are no machines of the control plane."""

    def _since(self) -> datetime:
        return self.now - self.subject.reload_time

    def _signing(self) -> set[str]:
        servers = self.servers.values()
        if self.what == SERVICE_ACCOUNTS:
            return {digests(server.started[ACCOUNTS])[0] for server in servers if ACCOUNTS in server.started}
        name = self.what.removeprefix(AUTHORITY)
        if name == ADMINISTRATORS:
            return set(digests(json.loads(self.vault["ca-administrators"])["certificate"]))
        shown = {
            text
            for server in servers
            for file in SHOWS[name].get(server.machine.role, ())
            for text in server.may_use(file, since=self._since())
        }
        known = {one for text in self._believable(name) for one in certificates_in(text)}
        return {digests(ca)[0] for ca in known for text in shown if _is_of(text, ca)}

    def _believable(self, name: str) -> set[str]:
        return {self.vault[f"trust-{name}"], json.loads(self.vault[f"ca-{name}"])["certificate"], *self._ever}

    @cached_property
    def _ever(self) -> set[str]:
        """Return the authority that was there first."""
        name = self.what.removeprefix(AUTHORITY)
        return {self.vault.get(f"trust-{name}", "")}

    def _believed(self, server: Server) -> Iterator[set[str]]:
        for name in self._believing(server):
            for text in server.may_use(name, since=self._since()):
                yield set(digests(text))

    def _believing(self, server: Server) -> tuple[str, ...]:
        """Return the files of what a machine believes."""
        if self.what == SERVICE_ACCOUNTS:
            return (ACCOUNTS,) if server.machine.role is Role.API else ()
        return BELIEVES[self.what.removeprefix(AUTHORITY)].get(server.machine.role, ())

    @cached_property
    def record(self) -> RotationStore:
        stand_in: Any = self
        place = place_of(self.environment, self.environment.control_plane.site)
        return RotationStore(control=stand_in, place=place, environment=self.environment)

    @cached_property
    def subject(self) -> RotationSubject:
        if self.what == SERVICE_ACCOUNTS:
            stand_in: Any = self
            return ServiceAccounts(vault=self.record, api=stand_in, tell=self.told.append)
        return self.rotation(self.what.removeprefix(AUTHORITY))

    def rotation(self, name: str) -> RotationSubject:
        return AuthorityRotation.of(self.record, name, api=self, tell=self.told.append)

    def run(self, *, now: bool = False, held: Callable[[], bool] = lambda: True) -> RotationProgress:
        """Run `longhaul rotate` once."""
        told = self.told.append
        run = Overlap(
            record=self.record,
            subject=self.subject,
            tell=told,
            has_lease=held,
            clock=lambda: self.now,
            sleep=self.sleep,
        )
        return run.run(now=now)

    def finish(self) -> None:
        """Run it until it is over, each time when it may go on."""
        for _ in range(3):
            standing = self.run()
            if standing == STEADY:
                return
            assert standing.until is not None
            self.now = standing.until
        raise AssertionError("it does not come to an end")

    @property
    def believed(self) -> tuple[str, ...]:
        """Digests of the keys that the vault has believed."""
        if self.what == SERVICE_ACCOUNTS:
            return digests(json.loads(self.vault[SIGNING_KEYS])["file"])
        return digests(self.vault[f"trust-{self.what.removeprefix(AUTHORITY)}"])

    @property
    def all_believe(self) -> bool:
        """True when every machine believes what the vault has believed, and nothing else of the kind."""
        own = "" if self.what == SERVICE_ACCOUNTS else self.what.removeprefix(AUTHORITY)
        other = {
            key
            for one in authorities(self.environment)
            if one.name != own
            for key in digests(self.vault[one.trust_secret])
        }
        found = [
            digests({**server.files, **server.started}[file])
            for server in self.servers.values()
            for file in self._believing(server)
        ]
        return all(tuple(key for key in keys if key not in other) == self.believed for keys in found)

    @property
    def standing(self) -> RotationProgress:
        return parse_progress(self.vault[ROTATIONS]).get(self.what, STEADY)


def _secret_files(environment: Environment, machine: Machine) -> tuple[SecretFile, ...]:
    return (etcd if machine.role.is_etcd else api_server_machine).secret_files(environment, machine)


@cache
def _is_of(text: str, authority: str) -> bool:
    (certificate,) = certificates_in(text)
    return issuing.is_issued_by(certificate, authority)


def first_vault(environment: Environment) -> dict[str, str]:
    """Return the secrets of a vault before any rotation."""
    found = {SIGNING_KEYS: SigningKeys.alone(issuing.new_key()).text(), ROTATIONS: "{}", "encryption-keys": "[]"}
    found |= {QUARANTINE: Quarantine().text(), ISSUERS: settings(environment), REVOKED: Revoked().text()}
    pairs = {}
    for one in authorities(environment):
        pair = issuing.new_authority(common_name=one.common_name, days=one.days, key=issuing.new_key())
        pairs[one.name] = pair
        found[one.secret] = json.dumps({"certificate": pair.certificate, "key": pair.key})
        found[one.trust_secret] = pair.certificate
    for leaf in certificates(environment, plan(environment)):
        authority = pairs[leaf.authority]
        found[leaf.name] = issuing.secret_value(issuing.issue(issuing.subject_of(leaf), authority=authority), authority)
    return found
