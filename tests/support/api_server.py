"""A real Kubernetes without nodes, on loopback: etcd, kube-apiserver, and the controllers if a test wants them."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from components.control_plane import issuing
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from longhaul.toolchain.spec import repository
from tests.support.kubernetes_requests import Requests, refusal
from tests.support.ports import free_ports

NODE_SIGNER = repository() / "images/rootfs/etc/systemd/system/kube-node-signer.service"
READY_S = 300.0
DAYS = 1
NOBODY = ("--reuid=65534", "--clear-groups", "--inh-caps=+dac_override", "--ambient-caps=+dac_override")
"""Flags of setpriv(1): a user who may read and write what is root's."""


def as_nobody() -> tuple[str, ...]:
    """Return the words before a command that has inotify instances of its own: Linux counts them by user, and a lab
    beside these tests needs root's. Nothing where the tests do not run as root."""
    return ("setpriv", *NOBODY) if os.geteuid() == 0 else ()


@dataclass(frozen=True, kw_only=True)
class Storage:
    """Storage of an API server's objects."""

    synced: bool = False
    """True when etcd awaits its disk, as in production."""
    split: bool = False
    """True when events have an etcd of their own."""
    under: tuple[str, ...] = ()
    """Command under which each etcd runs."""


class ApiServer:
    """One API server and its etcd, below ``folder``; everything it starts ends with :meth:`close`."""

    def __init__(
        self,
        folder: Path,
        *,
        tools: dict[str, Path],
        services: IPv4Network,
        storage: Storage | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        """``arguments``: more of kube-apiserver's."""
        self.folder, self._tools, self._services, self._arguments = folder, tools, services, arguments
        self._storage = storage or Storage()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._requests: dict[Path, Requests] = {}
        self.port, self._controllers = free_ports(2)
        self.kubeconfig = folder / "kubeconfig"
        self.accounts = folder / "account.key"
        """Keys of service accounts; one is made unless there is one before the start."""
        self.own_authority = issuing.new_authority(common_name="test", days=DAYS, key=issuing.new_key())

    def start(self) -> None:
        """Start etcd and the API server; return when the API server is ready."""
        main = self._start_etcd("etcd")
        events = [f"--etcd-servers-overrides=/events#{self._start_etcd('events')}"] if self._storage.split else []
        serving = self._identity("serving", "kube-apiserver", usages=["server"])
        self._write_kubeconfig("admin", self.kubeconfig, organizations=["system:masters"])
        if not self.accounts.exists():
            subprocess.run(["openssl", "genrsa", "-out", str(self.accounts), "2048"], check=True, capture_output=True)
        self._words = (
            f"--etcd-servers={main}",
            *events,
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            f"--tls-cert-file={serving}",
            f"--tls-private-key-file={serving}",
            f"--client-ca-file={self.folder / 'ca.crt'}",
            f"--service-account-key-file={self.accounts}",
            f"--service-account-signing-key-file={self.accounts}",
            "--service-account-issuer=https://test",
            f"--service-cluster-ip-range={self._services}",
            "--allow-privileged=true",
            *([] if self._authorizes() else ["--authorization-mode=Node,RBAC"]),
            "--enable-admission-plugins=NodeRestriction",
            "--enable-bootstrap-token-auth=true",
            *self._arguments,
        )
        self._serve()

    def restart(self) -> None:
        """Start the API server anew, as it was; return when it is ready."""
        os.killpg(self._server.pid, signal.SIGTERM)
        self._server.wait()
        self._processes.remove(self._server)
        self._serve()

    def _serve(self) -> None:
        self._server = self._run("kube-apiserver", *self._words, under=as_nobody())
        context = ssl.create_default_context(cafile=self.folder / "ca.crt")
        context.load_cert_chain(self._administrator())
        eventually(lambda: self._is_ready(context), what="the API server is ready")

    def _is_ready(self, context: ssl.SSLContext) -> bool:
        """Ask without kubectl, which takes a tenth of a second of processor each time."""
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{self.port}/readyz", context=context) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            return False

    def _authorizes(self) -> bool:
        """Return whether a configuration of the test's own says who authorizes."""
        return any(word.startswith("--authorization-config=") for word in self._arguments)

    def start_controllers(self, *words: str) -> None:
        """Start kube-controller-manager: deployments, garbage collection. ``words`` are more of its flags."""
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self.accounts}",
            "--leader-elect=false",
            f"--secure-port={self._controllers}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.folder / 'controllers'}",
            # A test would wait for as long as the five minutes are until kinds that are new are counted.
            "--resource-quota-sync-period=10s",
            *words,
            under=as_nobody(),
        )

    @contextmanager
    def scheduler(self, configuration: Path) -> Iterator[None]:
        """Run kube-scheduler with a configuration for the time of the block."""
        (port,) = free_ports(1)
        words = (f"--config={configuration}", f"--secure-port={port}", "--bind-address=127.0.0.1")
        process = self._run("kube-scheduler", *words, f"--cert-dir={self.folder / 'scheduler'}", under=as_nobody())
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._processes.remove(process)

    def start_kwok(self, stages: Path, *, lease_s: int) -> None:
        """Start kwok, which does the work of kubelets for nodes with its annotation ``kwok.x-k8s.io/node: fake``, by
        ``stages``. A node's lease lasts for ``lease_s`` seconds, and is renewed after a quarter of that."""
        self._run(
            "kwok",
            f"--kubeconfig={self.kubeconfig}",
            f"--config={stages}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            f"--node-lease-duration-seconds={lease_s}",
            "--v=WARN",
        )

    def open_namespace(self, name: str) -> None:
        """Make a namespace, and return once pods may be made in it. The controllers run."""
        self.kubectl("create", "namespace", name)
        account = ("get", "serviceaccount", "default", f"--namespace={name}", "--output=name")
        found = "serviceaccount/default\n"
        eventually(lambda: self.kubectl(*account, check=False) == found, what="pods may be made")

    def start_node_signer(self) -> None:
        """Start the signer of nodes' certificates with the flags of its unit. Its authority is the one that the API
        server believes clients by."""
        (port,) = free_ports(1)
        here = {
            "/etc/longhaul/controller-manager.kubeconfig": str(self.user("system:kube-controller-manager")),
            "/etc/longhaul/pki/nodes-authority.pem": str(self.authority()),
            "--secure-port=10262": f"--secure-port={port}",
        }
        text = NODE_SIGNER.read_text(encoding="utf-8")
        for named, own in here.items():
            assert named in text, named
            text = text.replace(named, own)
        flags = re.findall(r"^  (--\S+)", text, re.MULTILINE)
        self._run("kube-controller-manager", *flags, f"--cert-dir={self.folder / f'node-signer-{port}'}")

    def kubectl(self, *words: str, kubeconfig: Path | None = None, stdin: str = "", check: bool = True) -> str:
        """Run kubectl and return its output; with ``check``, a failure shows what it printed."""
        done = subprocess.run(
            [str(self._tools["kubectl"]), f"--kubeconfig={kubeconfig or self.kubeconfig}", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=READY_S,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(words)}: {done.stderr or done.stdout}")
        if check:
            return done.stdout
        # Of many objects some may be made, and others refused.
        return done.stdout + done.stderr if done.returncode else done.stdout or done.stderr

    def client(self, *, timeout_s: float) -> Api:
        """Return an administrator's client."""
        pem = self._administrator().read_text(encoding="ascii")
        identity = {"certificate": pem, "key": "", "issuer": (self.folder / "ca.crt").read_text(encoding="ascii")}
        return Api(f"https://127.0.0.1:{self.port}", identity, timeout_s=timeout_s)

    def _administrator(self) -> Path:
        """Return the file with the administrator's certificate and key."""
        user = json.loads(self.kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]
        return self.folder / str(user["client-certificate"])

    def get(self, *words: str) -> dict[str, Any]:
        """Return the objects of ``kubectl get … -o json``."""
        try:
            return self.requests().get(*words)
        except ApiError as error:
            raise AssertionError(f"get {' '.join(words)}: {refusal(error)}") from error

    def requests(self, kubeconfig: Path | None = None) -> Requests:
        """Return the requests of a user, of an administrator by default."""
        path = kubeconfig or self.kubeconfig
        if path not in self._requests:
            self._requests[path] = Requests(path)
        return self._requests[path]

    def define(self, definition: Mapping[str, Any]) -> None:
        """Make a CustomResourceDefinition, and return once its kind is served. `kubectl wait` is an error for as long
        as the definition has no conditions."""
        self.kubectl("create", "--filename=-", stdin=json.dumps(definition))
        name = definition["metadata"]["name"]
        eventually(lambda: self.kubectl("get", name, "--output=name", check=False) == "", what=f"{name} is served")

    def user(self, name: str, *, organizations: tuple[str, ...] = ()) -> Path:
        """Return a kubeconfig for another user."""
        path = self.folder / f"{secrets.token_hex(4)}.kubeconfig"
        self._write_kubeconfig(name, path, organizations=list(organizations))
        return path

    def pem(self, name: str, *, server_name: str = "") -> Path:
        """Return the file with certificate and key of a user, which is also a server called ``server_name`` if
        given."""
        names = [server_name] if server_name else []
        usages = ["server", "client"] if server_name else ["client"]
        subject = issuing.Subject(common_name=name, dns_names=names, usages=usages, days=DAYS)
        pair = issuing.issue(subject, authority=self.own_authority)
        path = self.folder / f"{secrets.token_hex(4)}.pem"
        path.write_text(pair.certificate + pair.key)
        return path

    def authority(self) -> Path:
        """Return the file with the authority for clients' certificates, and its key."""
        path = self.folder / "authority.pem"
        path.write_text(self.own_authority.certificate + self.own_authority.key)
        return path

    def bearer(self, token: str) -> Path:
        """Return a kubeconfig with ``token`` as its credential."""
        path = self.folder / f"{secrets.token_hex(4)}.kubeconfig"
        path.write_text(json.dumps(self._config({"token": token})))
        return path

    @property
    def pid(self) -> int:
        """Process of the API server."""
        return self._server.pid

    def pause(self) -> None:
        """Stop answering, without ending."""
        self._server.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after :meth:`pause`."""
        self._server.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End everything, last started first."""
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start_etcd(self, name: str) -> str:
        """Start an etcd and return its URL."""
        client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        words = [f"--data-dir={self.folder / name}", f"--listen-peer-urls={peer}"]
        words += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        words += [] if self._storage.synced else ["--unsafe-no-fsync"]
        self._run("etcd", *words, under=self._storage.under)
        return client

    def _run(self, name: str, *words: str, under: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [*under, str(self._tools[name]), *words]
            kept = {name: os.environ[name] for name in ("PATH", "GOGC") if name in os.environ}
            environment = {"HOME": str(self.folder), **kept}
            # A group of its own, so that a command under which it runs ends with it.
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self._processes.append(process)
        return process

    def _identity(
        self, name: str, common_name: str, *, usages: list[str], organizations: list[str] | None = None
    ) -> Path:
        (self.folder / "ca.crt").write_text(self.own_authority.certificate)
        pair = issuing.issue(
            issuing.Subject(
                common_name=common_name,
                organizations=organizations or [],
                dns_names=["kubernetes", "kubernetes.test"],
                addresses=["127.0.0.1"],
                usages=usages,
                days=DAYS,
            ),
            authority=self.own_authority,
        )
        path = self.folder / f"{name}.pem"
        path.write_text(pair.certificate + pair.key)
        return path

    def _write_kubeconfig(self, name: str, path: Path, *, organizations: list[str]) -> None:
        part = f"client-{secrets.token_hex(4)}"
        identity = self._identity(part, name, usages=["client"], organizations=organizations)
        # Relative names, as kubectl writes them.
        path.write_text(json.dumps(self._config({"client-certificate": identity.name, "client-key": identity.name})))

    def _config(self, user: dict[str, str]) -> dict[str, Any]:
        cluster = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority": "ca.crt",
            "tls-server-name": "kubernetes.test",
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "me"}}],
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "me", "user": user}],
        }


@contextmanager
def api_server(
    folder: Path,
    *,
    tools: dict[str, Path],
    services: IPv4Network,
    storage: Storage | None = None,
    arguments: Sequence[str] = (),
) -> Iterator[ApiServer]:
    """Run an API server; it is ready when the block begins."""
    server = ApiServer(folder, tools=tools, services=services, storage=storage, arguments=arguments)
    try:
        server.start()
        yield server
    finally:
        server.close()


def eventually(condition: Callable[[], Any], *, what: str) -> Any:
    """Wait for ``condition``; fail the test with ``what`` after :data:`READY_S`. The longer it takes, the more rarely
    it is looked at: most conditions start kubectl, which takes a tenth of a second of processor."""
    started = time.monotonic()
    while (waited := time.monotonic() - started) < READY_S:
        if found := condition():
            return found
        time.sleep(min(0.1 + waited / 10, 1))
    raise AssertionError(f"never came about: {what}")
