"""A node controller that was taken over, against the real signer of nodes' certificates: what it approves makes nodes
and nothing else."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from components.control_plane import issuing
from components.model import load, plan
from components.model.secrets.certificates import NODE_CONTROLLER
from contract.lifetimes import NODE_CERTIFICATE_DAYS
from lab import tools
from tests.images import kubelets
from tests.images.kubelets import CLIENT, SERVING
from tests.services.node_controller.rights import rights
from tests.services.node_controller.world import REQUESTS, Caller
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.hosts import STACKS

pytestmark = pytest.mark.engine

APPROVED = {"conditions": [{"type": "Approved", "status": "True", "reason": "Mine"}]}
API_CLIENT = "kubernetes.io/kube-apiserver-client"
MASTERS = [(NameOID.ORGANIZATION_NAME, "system:masters"), (NameOID.COMMON_NAME, "system:node:a")]
NODE_TOO = [(NameOID.ORGANIZATION_NAME, "system:nodes"), *MASTERS]
ADMINISTRATOR = [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, "system:admin")]


class Thief:
    """Holder of the node controller's certificate, with a friend who makes requests."""

    def __init__(self, cluster: ApiServer) -> None:
        self.cluster = cluster
        base, trust = f"https://127.0.0.1:{cluster.port}", (cluster.folder / "ca.crt").read_text()
        self.controller = Caller(base, trust, pem=cluster.pem(NODE_CONTROLLER))

    def request(self, **asked: Any) -> str:
        """Make a request as somebody who may, and return its name."""
        signer = asked.pop("signer", CLIENT)
        document = kubelets.document(kubelets.csr("a", kubelets.key(), **asked), signer=signer)
        self.cluster.kubectl("create", "--filename=-", stdin=json.dumps(document))
        return str(document["metadata"]["name"])

    def write(self, name: str, part: str, **status: Any) -> tuple[int, dict[str, Any]]:
        """Write a request's approval or status as the node controller, and return the API server's answer."""
        document = self.cluster.get("csr", name)
        return self.controller.ask("PUT", f"{REQUESTS}/{name}/{part}", {**document, "status": status})

    def approve(self, name: str) -> int:
        """Approve a request as the node controller, and return the status of the API server's answer."""
        return self.write(name, "approval", **APPROVED)[0]

    def outcome(self, name: str) -> dict[str, Any]:
        """Return the status of a request once the signer is done with it."""

        def done() -> dict[str, Any] | None:
            status: dict[str, Any] = self.cluster.get("csr", name)["status"]
            failed = any(each["type"] == "Failed" for each in status.get("conditions", []))
            return status if failed or status.get("certificate") else None

        found: dict[str, Any] = eventually(done, what=f"{name} is signed or has failed")
        return found

    def signed(self, name: str) -> x509.Certificate:
        """Approve a request, and return the certificate that the signer makes."""
        assert self.approve(name) == 200
        return x509.load_pem_x509_certificate(base64.b64decode(self.outcome(name)["certificate"]))


@pytest.fixture(name="thief", scope="module")
def _thief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Thief]:
    folder = tmp_path_factory.mktemp("signer")
    names = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]
    binaries = tools.ensure(names, log_dir=folder, progress=print)
    services = plan(load(STACKS / "Pulumi.lab.yaml")).services
    with api_server(folder, tools=binaries, services=services) as cluster:
        for name in ("default", "kube-system", "kube-node-lease"):
            eventually(partial(cluster.kubectl, "get", "namespace", name, "--output=name", check=False), what=name)
        for path, document in rights():
            cluster.kubectl("create", "--raw", path, "--filename=-", stdin=json.dumps(document))
        # Two, as on two machines: of their signatures the API takes one.
        cluster.start_node_signer()
        cluster.start_node_signer()
        yield Thief(cluster)


@pytest.mark.parametrize("signer", [CLIENT, SERVING])
@pytest.mark.parametrize("subject", [MASTERS, NODE_TOO, ADMINISTRATOR], ids=["masters", "both", "administrator"])
def test_what_it_approves_makes_no_administrator(thief: Thief, signer: str, subject: Any) -> None:
    names = ["a"] if signer == SERVING else []
    name = thief.request(subject=subject, signer=signer, dns_names=names)
    assert thief.approve(name) == 200
    status = thief.outcome(name)
    assert "certificate" not in status
    assert [each["reason"] for each in status["conditions"] if each["type"] == "Failed"] == ["SignerValidationFailure"]


def test_it_may_approve_for_no_other_signer(thief: Thief) -> None:
    for signer in (API_CLIENT, "example.com/any"):
        assert thief.approve(thief.request(signer=signer)) == 403


def test_it_may_write_no_certificate(thief: Thief) -> None:
    name = thief.request()
    assert thief.write(name, "status", certificate=base64.b64encode(b"x").decode())[0] == 403


def test_it_may_make_no_request_itself(thief: Thief) -> None:
    document = kubelets.document(kubelets.csr("a", kubelets.key()))
    assert thief.controller.ask("POST", REQUESTS, document)[0] == 403


def test_nobody_signs_for_other_clients_whoever_approves(thief: Thief) -> None:
    """One that is approved later has been signed when this is looked at."""
    name = thief.request(signer=API_CLIENT)
    thief.cluster.kubectl("certificate", "approve", name)
    thief.signed(thief.request())
    assert "certificate" not in thief.cluster.get("csr", name)["status"]


def test_a_controller_of_an_earlier_release_signs_beside_it(thief: Thief) -> None:
    """Such a one, which leads while API servers are replaced, writes the certificate itself after its approval."""
    name = thief.request()
    _, document = thief.write(name, "approval", **APPROVED)
    document["status"]["certificate"] = kubelets.signed(document, thief.cluster.own_authority)
    path = f"{REQUESTS}/{name}/status"
    said = thief.cluster.kubectl("replace", "--raw", path, "--filename=-", stdin=json.dumps(document), check=False)
    assert '"certificate"' in said or "the object has been modified" in said
    assert thief.outcome(name)["certificate"]


def test_what_stays_possible_is_a_node_of_any_name(thief: Thief) -> None:
    """docs/security.md says so. What is signed is what was asked for."""
    found = thief.signed(thief.request())
    assert found.subject.rfc4514_string() == "CN=system:node:a,O=system:nodes"
    usages = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usages) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    serving = thief.signed(thief.request(signer=SERVING, dns_names=["a"], addresses=["10.65.128.4"]))
    names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["10.65.128.4"]


def test_a_renewed_authority_is_used_without_a_restart(thief: Thief) -> None:
    """The last one here: the API server believes no client of the new authority."""
    renewed = issuing.new_authority(common_name="renewed", days=60, key=issuing.new_key())
    written = thief.cluster.folder / "renewed.pem"
    written.write_text(renewed.certificate + renewed.key)
    written.replace(thief.cluster.folder / "authority.pem")
    issuer = x509.load_pem_x509_certificate(renewed.certificate.encode())
    asked = lambda: thief.signed(thief.request())  # noqa: E731
    found = eventually(lambda: next((one for one in [asked()] if one.issuer == issuer.subject), None), what="it is")
    found.verify_directly_issued_by(issuer)
    assert found.not_valid_after_utc - found.not_valid_before_utc == timedelta(days=NODE_CERTIFICATE_DAYS)
