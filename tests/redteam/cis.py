"""Sections 1 to 4 of the CIS Kubernetes Benchmark, restated for machines whose programs are units of systemd.

Numbers are those of kube-bench's ``cis-1.12`` (github.com/aquasecurity/kube-bench, ``cfg/cis-1.12``), so that an
auditor finds each. A check answers by the letter. Where the letter is not what is wanted here, docs/security.md has the
number and the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import yaml

ETC = "/etc/longhaul"
UNITS = "/etc/systemd/system"
KUBELET_PKI = "/var/lib/kubelet/pki"

COLLECT = r"""python3 - <<'END'
import glob, grp, json, os, pwd, re

UNITS = "kube-apiserver kube-controller-manager kube-node-signer kube-scheduler etcd kubelet kube-proxy".split()
FILES = ("/etc/systemd/system/*.service", "/etc/longhaul/**", "/etc/kubernetes/**", "/run/longhaul/**",
         "/var/lib/kubelet/kubeconfig", "/var/lib/kubelet/pki/*", "/var/lib/longhaul/ssd/etcd")
TEXTS = ("/etc/longhaul/authentication.yaml", "/etc/longhaul/pki/authorization.yaml", "/etc/longhaul/kubelet.yaml",
         "/etc/longhaul/kube-proxy.yaml", "/usr/local/share/longhaul/audit-policy.yaml")

def read(path):
    with open(path, "rb") as file:
        return file.read().decode()

programs = {}
for folder in glob.glob("/proc/[0-9]*"):
    try:
        words, there = read(folder + "/cmdline").split("\0"), read(folder + "/environ").split("\0")
        unit = re.search(r"/([a-z-]+)[.]service$", read(folder + "/cgroup"), re.M)
    except OSError:
        continue
    if unit and unit[1] in UNITS and words[0].startswith("/usr/local/bin/"):
        programs[unit[1]] = {
            "arguments": [word for word in words[1:] if word],
            "variables": dict(one.split("=", 1) for one in there if one.startswith("ETCD_")),
        }
files = {}
for path in {path for pattern in FILES for path in glob.glob(pattern, recursive=True) if os.path.exists(path)}:
    of = os.stat(path)
    files[path] = {
        "folder": os.path.isdir(path),
        "mode": of.st_mode & 0o7777,
        "owner": pwd.getpwuid(of.st_uid).pw_name + ":" + grp.getgrgid(of.st_gid).gr_name,
    }
# Of what holds keys, names alone.
providers = []
if os.path.exists("/etc/longhaul/pki/encryption.yaml"):
    _, _, listed = read("/etc/longhaul/pki/encryption.yaml").partition("providers:")
    providers = re.findall(r"^ *- (\w+): *$", listed, re.M)
print(json.dumps({"programs": programs, "files": files, "providers": providers,
                  "texts": {path: read(path) for path in TEXTS if os.path.exists(path)}}))
END
"""
"""Shell script that prints a machine's facts as JSON."""


@dataclass(frozen=True)
class Facts:
    """Facts of one machine."""

    told: Mapping[str, Any]

    @classmethod
    def of(cls, printed: str) -> Facts:
        """Return the facts that :data:`COLLECT` printed."""
        return cls(json.loads(printed))

    @property
    def programs(self) -> frozenset[str]:
        """Names of the units of Kubernetes' and etcd's programs that run."""
        return frozenset(self.told["programs"])

    @property
    def providers(self) -> list[str]:
        """Kinds of keys for Secrets at rest, the one that writes first."""
        return list(self.told["providers"])

    def flag(self, program: str, name: str) -> str | None:
        """Return an argument's value; None when it is not given."""
        found = (word.partition("=")[2] for word in self._program(program) if word.partition("=")[0] == f"--{name}")
        return next(found, None)

    def listed(self, program: str, name: str) -> set[str]:
        """Return the values of an argument that is a list."""
        return set(filter(None, (self.flag(program, name) or "").split(",")))

    def variable(self, name: str) -> str | None:
        """Return what the environment of etcd says; None when it says nothing."""
        found = self.told["programs"]["etcd"]["variables"].get(f"ETCD_{name}")
        return None if found is None else str(found)

    def document(self, path: str) -> dict[str, Any]:
        """Return what a file in YAML says."""
        return dict(yaml.safe_load(self.told["texts"][path]))

    def modes(self, most: int, *patterns: str) -> bool:
        """Return whether there are such files, and none has a permission beyond ``most``."""
        found = [one["mode"] for one in self._files(*patterns)]
        return bool(found) and all(mode & ~most == 0 for mode in found)

    def owned(self, by: str, *patterns: str) -> bool:
        """Return whether there are such files, and all have this owner and group."""
        found = [one["owner"] for one in self._files(*patterns)]
        return bool(found) and set(found) == {by}

    def absent(self, *patterns: str) -> bool:
        """Return whether there is no such file."""
        return not self._files(*patterns)

    def _files(self, *patterns: str) -> list[dict[str, Any]]:
        files: dict[str, dict[str, Any]] = self.told["files"]
        return [one for path, one in files.items() if any(fnmatch(path, pattern) for pattern in patterns)]

    def _program(self, name: str) -> list[str]:
        return list(self.told["programs"][name]["arguments"])


Check = Callable[[Facts], bool]

API, MANAGER, SCHEDULER = "kube-apiserver", "kube-controller-manager", "kube-scheduler"
SIGNER = "kube-node-signer"
"""Second kube-controller-manager, with two of its controllers."""


def _given(program: str, *names: str) -> Check:
    return lambda facts: all(facts.flag(program, name) for name in names)


def _absent(program: str, name: str) -> Check:
    return lambda facts: facts.flag(program, name) is None


def _is(program: str, name: str, value: str) -> Check:
    return lambda facts: facts.flag(program, name) == value


def _default_or(program: str, name: str, value: str) -> Check:
    return lambda facts: facts.flag(program, name) in {None, value}


def _at_least(program: str, name: str, value: int) -> Check:
    return lambda facts: int(facts.flag(program, name) or 0) >= value


def _has(program: str, name: str, value: str) -> Check:
    return lambda facts: value in facts.listed(program, name)


def _has_not(program: str, name: str, value: str) -> Check:
    return lambda facts: value not in facts.listed(program, name)


def _modes(most: int, *patterns: str) -> Check:
    return lambda facts: facts.modes(most, *patterns)


def _owned(by: str, *patterns: str) -> Check:
    return lambda facts: facts.owned(by, *patterns)


def _set(*names: str) -> Check:
    return lambda facts: all(facts.variable(name) for name in names)


def _kubelet(facts: Facts) -> dict[str, Any]:
    return facts.document(f"{ETC}/kubelet.yaml")


def _strong(suites: set[str]) -> bool:
    """Return whether all make a key for each connection, encrypt and authenticate in one, as those that it lists do."""
    strong = re.compile(r"TLS_ECDHE_(ECDSA|RSA)_WITH_(AES_(128|256)_GCM_SHA(256|384)|CHACHA20_POLY1305(_SHA256)?)")
    return bool(suites) and all(strong.fullmatch(suite) for suite in suites)


def _by_hand(_: Facts) -> bool:
    """Return that no program can tell: docs/security.md does."""
    return False


def _authorizers(facts: Facts) -> list[str]:
    """Return the kinds of authorizers of the file that takes the place of ``--authorization-mode``."""
    return [str(one["type"]) for one in facts.document(f"{ETC}/pki/authorization.yaml")["authorizers"]]


ON_API_SERVERS: dict[str, Check] = {
    "1.1.1": _modes(0o600, f"{UNITS}/kube-apiserver.service"),
    "1.1.2": _owned("root:root", f"{UNITS}/kube-apiserver.service"),
    "1.1.3": _modes(0o600, f"{UNITS}/kube-controller-manager.service"),
    "1.1.4": _owned("root:root", f"{UNITS}/kube-controller-manager.service"),
    "1.1.5": _modes(0o600, f"{UNITS}/kube-scheduler.service"),
    "1.1.6": _owned("root:root", f"{UNITS}/kube-scheduler.service"),
    "1.1.13": lambda facts: facts.absent("/etc/kubernetes/*", f"{ETC}/*admin*"),
    "1.1.14": lambda facts: facts.absent("/etc/kubernetes/*", f"{ETC}/*admin*"),
    "1.1.15": _modes(0o600, f"{ETC}/scheduler.kubeconfig"),
    "1.1.16": _owned("root:root", f"{ETC}/scheduler.kubeconfig"),
    "1.1.17": _modes(0o600, f"{ETC}/controller-manager.kubeconfig"),
    "1.1.18": _owned("root:root", f"{ETC}/controller-manager.kubeconfig"),
    "1.1.19": _owned("root:root", f"{ETC}/pki", f"{ETC}/pki/*"),
    "1.1.20": _modes(0o644, f"{ETC}/pki/*.crt"),
    "1.1.21": _modes(0o600, f"{ETC}/pki/*.pem", f"{ETC}/pki/*.key", f"{ETC}/pki/encryption.yaml"),
    "1.2.1": lambda facts: not facts.document(f"{ETC}/authentication.yaml")["anonymous"]["enabled"],
    "1.2.2": _absent(API, "token-auth-file"),
    "1.2.3": _has(API, "enable-admission-plugins", "DenyServiceExternalIPs"),
    "1.2.4": _given(API, "kubelet-client-certificate", "kubelet-client-key"),
    "1.2.5": _given(API, "kubelet-certificate-authority"),
    "1.2.6": lambda facts: "AlwaysAllow" not in _authorizers(facts),
    "1.2.7": lambda facts: "Node" in _authorizers(facts),
    "1.2.8": lambda facts: "RBAC" in _authorizers(facts),
    "1.2.9": _has(API, "enable-admission-plugins", "EventRateLimit"),
    "1.2.10": _has_not(API, "enable-admission-plugins", "AlwaysAdmit"),
    "1.2.11": _has(API, "enable-admission-plugins", "AlwaysPullImages"),
    "1.2.12": _has_not(API, "disable-admission-plugins", "ServiceAccount"),
    "1.2.13": _has_not(API, "disable-admission-plugins", "NamespaceLifecycle"),
    "1.2.14": _has(API, "enable-admission-plugins", "NodeRestriction"),
    "1.2.15": _is(API, "profiling", "false"),
    "1.2.16": _given(API, "audit-log-path"),
    "1.2.17": _at_least(API, "audit-log-maxage", 30),
    "1.2.18": _at_least(API, "audit-log-maxbackup", 10),
    "1.2.19": _at_least(API, "audit-log-maxsize", 100),
    "1.2.20": _absent(API, "request-timeout"),
    "1.2.21": _default_or(API, "service-account-lookup", "true"),
    "1.2.22": _given(API, "service-account-key-file"),
    "1.2.23": _given(API, "etcd-certfile", "etcd-keyfile"),
    "1.2.24": _given(API, "tls-cert-file", "tls-private-key-file"),
    "1.2.25": _given(API, "client-ca-file"),
    "1.2.26": _given(API, "etcd-cafile"),
    "1.2.27": _given(API, "encryption-provider-config"),
    "1.2.28": lambda facts: facts.providers[:1] in (["aescbc"], ["kms"], ["secretbox"]),
    "1.2.29": lambda facts: _strong(facts.listed(API, "tls-cipher-suites")),
    "1.2.30": _is(API, "service-account-extend-token-expiration", "false"),
    "1.3.1": _given(MANAGER, "terminated-pod-gc-threshold"),
    "1.3.2": lambda facts: all(_is(one, "profiling", "false")(facts) for one in (MANAGER, SIGNER)),
    "1.3.3": _is(MANAGER, "use-service-account-credentials", "true"),
    "1.3.4": _given(MANAGER, "service-account-private-key-file"),
    "1.3.5": _given(MANAGER, "root-ca-file"),
    "1.3.6": _has_not(MANAGER, "feature-gates", "RotateKubeletServerCertificate=false"),
    "1.3.7": lambda facts: all(_is(one, "bind-address", "127.0.0.1")(facts) for one in (MANAGER, SIGNER)),
    "1.4.1": _is(SCHEDULER, "profiling", "false"),
    "1.4.2": _is(SCHEDULER, "bind-address", "127.0.0.1"),
    "3.1.1": _by_hand,
    "3.1.2": _by_hand,
    "3.1.3": _by_hand,
    "3.2.1": _given(API, "audit-policy-file"),
    "3.2.2": lambda facts: (
        facts.document("/usr/local/share/longhaul/audit-policy.yaml")["rules"][-1] == {"level": "Metadata"}
    ),
}

ON_MEMBERS: dict[str, Check] = {
    "1.1.7": _modes(0o600, f"{UNITS}/etcd.service"),
    "1.1.8": _owned("root:root", f"{UNITS}/etcd.service"),
    "1.1.11": _modes(0o700, "/var/lib/longhaul/ssd/etcd"),
    "1.1.12": _owned("etcd:etcd", "/var/lib/longhaul/ssd/etcd"),
    "2.1": _set("CERT_FILE", "KEY_FILE"),
    "2.2": lambda facts: facts.variable("CLIENT_CERT_AUTH") == "true",
    "2.3": lambda facts: facts.variable("AUTO_TLS") in {None, "false"},
    "2.4": _set("PEER_CERT_FILE", "PEER_KEY_FILE"),
    "2.5": lambda facts: facts.variable("PEER_CLIENT_CERT_AUTH") == "true",
    "2.6": lambda facts: facts.variable("PEER_AUTO_TLS") in {None, "false"},
    "2.7": lambda facts: facts.variable("TRUSTED_CA_FILE") == "/run/longhaul/etcd-client-ca.crt",
}

ON_NODES: dict[str, Check] = {
    "1.1.9": _modes(0o600, "/run/longhaul/cni/*", "/run/longhaul/cni-leases/longhaul/*"),
    "1.1.10": _owned("root:root", "/run/longhaul/cni/*", "/run/longhaul/cni-leases/longhaul/*"),
    "4.1.1": _modes(0o600, f"{UNITS}/kubelet.service"),
    "4.1.2": _owned("root:root", f"{UNITS}/kubelet.service"),
    "4.1.3": _modes(0o600, "/var/lib/kubelet/kubeconfig"),
    "4.1.4": _owned("root:root", "/var/lib/kubelet/kubeconfig"),
    "4.1.5": _modes(0o600, "/var/lib/kubelet/kubeconfig", f"{KUBELET_PKI}/*.pem"),
    "4.1.6": _owned("root:root", "/var/lib/kubelet/kubeconfig", f"{KUBELET_PKI}/*.pem"),
    "4.1.7": _modes(0o644, f"{ETC}/pki/kubernetes-ca.crt"),
    "4.1.8": _owned("root:root", f"{ETC}/pki/kubernetes-ca.crt"),
    "4.1.9": _modes(0o600, f"{ETC}/kubelet.yaml"),
    "4.1.10": _owned("root:root", f"{ETC}/kubelet.yaml"),
    "4.2.1": lambda facts: _kubelet(facts)["authentication"]["anonymous"]["enabled"] is False,
    "4.2.2": lambda facts: _kubelet(facts)["authorization"]["mode"] == "Webhook",
    "4.2.3": lambda facts: _kubelet(facts)["authentication"]["x509"]["clientCAFile"] == f"{ETC}/pki/kubernetes-ca.crt",
    "4.2.4": lambda facts: _kubelet(facts).get("readOnlyPort", 0) == 0,
    "4.2.5": lambda facts: _kubelet(facts).get("streamingConnectionIdleTimeout", "4h") not in {0, "0", "0s"},
    "4.2.6": lambda facts: _kubelet(facts).get("makeIPTablesUtilChains", True),
    "4.2.7": _absent("kubelet", "hostname-override"),
    "4.2.8": lambda facts: _kubelet(facts).get("eventRecordQPS", 50) > 0,
    "4.2.9": lambda facts: {"tlsCertFile", "tlsPrivateKeyFile"} <= _kubelet(facts).keys(),
    "4.2.10": lambda facts: _kubelet(facts)["rotateCertificates"],
    "4.2.11": lambda facts: _kubelet(facts)["serverTLSBootstrap"],
    "4.2.12": lambda facts: _strong(set(_kubelet(facts)["tlsCipherSuites"])),
    "4.2.13": lambda facts: _kubelet(facts)["podPidsLimit"] > 0,
    "4.2.14": lambda facts: _kubelet(facts)["seccompDefault"] is True,
    "4.3.1": lambda facts: facts.document(f"{ETC}/kube-proxy.yaml")["metricsBindAddress"].startswith("127.0.0.1:"),
}

EVERY = {**ON_API_SERVERS, **ON_MEMBERS, **ON_NODES}


def not_held(checks: Mapping[str, Check], facts: Facts) -> set[str]:
    """Return the numbers of the checks that do not hold on a machine."""
    return {number for number, check in checks.items() if not check(facts)}
