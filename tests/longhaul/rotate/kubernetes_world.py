"""A world with nodes, kubeconfigs and machines that are not there yet: all of them check API servers' certificates."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from components.model import Environment
from components.model.secrets.certificates import KUBERNETES
from components.model.secrets.rotations import AUTHORITY
from components.model.teams.queues import KUEUE, webhooks_name
from contract.annotations import AUTHORITIES, AUTHORITIES_BOOT
from contract.lifetimes import ADMINISTRATOR_HOURS
from contract.object_names import AUTHORITIES_KEY
from longhaul.rotate.followers import DEPLOYMENTS, NODES, ROOT, Followers
from longhaul.rotate.kubernetes import KubernetesRotation
from longhaul.rotate.overlap import RotationSubject
from longhaul.rotate.webhooks import KINDS
from longhaul.terminal.exits import CommandError
from tests.longhaul.rotate.overlap_world import SERVERS, World, digests

WHAT = AUTHORITY + KUBERNETES
DNS = f"{DEPLOYMENTS}/coredns"
KUBECONFIG = timedelta(hours=ADMINISTRATOR_HOURS)
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/"


class KubernetesWorld(World):
    """The authority of API servers, in the midst of a rotation."""

    def __init__(
        self, environment: Environment, first: Mapping[str, str] | None = None, *, without: Collection[str] = ()
    ) -> None:
        self.nodes: dict[str, str] = {}
        """Authorities that each node believes, PEM."""
        self.bundles: dict[str, str] = {}
        """Authorities by which API servers know webhooks, PEM, by the path of their configuration."""
        self.away = set[str]()
        """Nodes that follow nobody, and tell what they told before."""
        self.silent = set[str]()
        self.words: dict[str, str] = {}
        """Words of an earlier boot, of nodes that were made anew since."""
        self.joined: dict[str, datetime] = {}
        """Times at which nodes joined; all others did long ago."""
        self.kubeconfigs: list[tuple[datetime, str]] = []
        self.without = without
        self.refused = set[str]()
        """Nodes that API servers refuse."""
        self.careless = False
        """True where what people hold from before may stop working."""
        self.started_with: Mapping[str, str] = {}
        """Annotations of the DNS pods."""
        self.restarts = 0
        self.hangs = False
        """True where a pod of the DNS stays that is from before."""
        self.pending, self.reads = False, 0
        self.trusted: str | None = None
        super().__init__(environment, WHAT, first)
        trust = self.vault["trust-kubernetes"]
        self.nodes, self.state, self.first_trust = dict.fromkeys(("a", "b"), trust), trust, trust
        self.bundles = dict.fromkeys((f"{WEBHOOKS}{kind}/{webhooks_name(KUEUE)}" for kind in KINDS), trust)

    @property
    def root(self) -> str:
        """Authorities that kube-controller-manager publishes, whichever of them leads."""
        return self.servers[f"lab-api-{self.steps % 2}"].started[SERVERS]

    def follow(self) -> None:
        """Have the timer of every node come."""
        for name in self.nodes.keys() - self.away:
            if self._shown() <= set(digests(self.root)):
                self.nodes[name] = self.root
                self.words.pop(name, None)

    def make_anew(self, name: str) -> None:
        """Have a cloud make a node's machine anew, with the user-data that it was made with."""
        self.words[name] = self.nodes[name]
        self.nodes[name] = self.first_trust

    def _shown(self) -> set[str]:
        return self._signing() if self.nodes else set()

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.follow()
        self.check()

    def check(self) -> None:
        if self.careless:
            self.check_others(self._signing())
        else:
            super().check()

    def check_others(self, signing: set[str]) -> None:
        if not self.nodes:
            return
        for name, text in self.nodes.items():
            known = name in self.without or name in self.refused
            assert known or signing <= set(digests(text)), f"{name} does not know every server"
        assert signing <= set(digests(self.state)), "a new machine does not know every server"
        for path, text in self.bundles.items():
            assert signing <= set(digests(text)), f"API servers do not know the webhooks of {path}"
        self.kubeconfigs.append((self.now, self.vault["trust-kubernetes"]))
        for made, text in self.kubeconfigs:
            known = signing <= set(digests(text)) or self.now - made >= KUBECONFIG
            assert known or self.careless, "a kubeconfig does not know every server"

    def find(self, path: str) -> dict[str, Any] | None:
        if path.startswith(WEBHOOKS):
            return self._webhooks(path)
        if path == ROOT:
            return {"data": {AUTHORITIES_KEY: self.root}}
        if path == DNS:
            return self._dns()
        return super().find(path)

    def items(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        if path == NODES:
            for name, text in self.nodes.items():
                said = {} if name in self.silent else {AUTHORITIES: ",".join(digests(self.words.get(name, text)))}
                # "a" is of a release that does not tell it.
                boot = {} if name == "a" else {AUTHORITIES_BOOT: "former" if name in self.words else "this"}
                joined = self.joined.get(name, datetime(2020, 1, 1, tzinfo=UTC))
                yield {
                    "metadata": {
                        "name": name,
                        "annotations": said | boot,
                        "creationTimestamp": joined.isoformat(),
                    },
                    "status": {"nodeInfo": {"bootID": "this"}},
                }
        else:
            assert (path, query) == (DEPLOYMENTS, {"labelSelector": "app.kubernetes.io/managed-by=longhaul"})
            yield self._dns()

    def _dns(self) -> dict[str, Any]:
        counts = {"replicas": 2, "updatedReplicas": 1 if self.hangs else 2, "availableReplicas": 2}
        return {
            "metadata": {"name": "coredns", "generation": self.restarts},
            "spec": {"replicas": 2, "template": {"metadata": {"annotations": dict(self.started_with)}}},
            "status": {**counts, "observedGeneration": self.restarts},
        }

    def _webhooks(self, path: str) -> dict[str, Any] | None:
        if path not in self.bundles:
            return None
        client = {"url": "https://127.0.0.1:1", "caBundle": base64.b64encode(self.bundles[path].encode()).decode()}
        version = {"name": path.rpartition("/")[2], "resourceVersion": "1"}
        return {"metadata": version, "webhooks": [{"name": "a", "clientConfig": client}] * 2}

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path in self.bundles:
            self.step()
            (bundle,) = {one["clientConfig"]["caBundle"] for one in body["webhooks"]}
            self.bundles[path] = base64.b64decode(bundle).decode()
            return {}
        if path != DNS:
            return super().patch(path, body)
        self.step()
        self.started_with = body["spec"]["template"]["metadata"]["annotations"]
        self.restarts += 1
        return {}

    def trust(self, authorities: str) -> None:
        self.trusted = authorities

    def refuse_other_changes(self) -> None:
        if self.pending:
            raise CommandError("the environment's pools are not as its file says")

    def learn(self) -> None:
        """Run the engine, as far as user-data goes."""
        self.step()
        self.reads += 1
        self.state = self.vault["trust-kubernetes"]
        self.check()

    def rotation(self, name: str) -> RotationSubject:
        tell = self.told.append
        followers = Followers(api=self, tell=tell, without=self.without, clock=lambda: self.now, sleep=self.sleep)
        return KubernetesRotation.of(self.record, name, api=self, tell=tell, followers=followers, new_machines=self)

    @property
    def all_believe(self) -> bool:
        nodes = [text for name, text in self.nodes.items() if name not in self.without and name not in self.refused]
        others = {digests(text) for text in (*nodes, self.state, *self.bundles.values())}
        return super().all_believe and others == {self.believed}
