"""Files of an API server machine: kube-apiserver, controller-manager, node signer, scheduler, node controller,
autoscaler, accountant and join service. Settings that are the same on every machine are in the units,
images/rootfs/etc/systemd/system.

The etcd members are not among kube-apiserver's arguments. node.json names every address that a member may have, and at
its start the machine asks the etcd clusters for their members (kube_apiserver/etcd_endpoints.py). So an etcd cluster
grows or shrinks without the replacement of an API server. A running API server finds new members at its next start, and
does not need them before.

An API server survives the loss of the events etcd cluster (``READY_PATH`` in components/model/control_plane/health.py).
It can also start without that cluster, through a relay on its machine (kube_apiserver/events_relay.py): kube-apiserver
1.36 ends after 20 s when an etcd cluster accepts no connection.
"""

from __future__ import annotations

from functools import cache

from components.model import AddressPlan, Environment, Machine, Role
from components.model.control_plane.size import api_arguments
from components.model.secrets.certificates import ADMINISTRATORS, FRONT_PROXY, KUBERNETES, NODES
from components.model.secrets.encryption_keys import ENCRYPTED
from components.model.secrets.vault import ISSUERS, KEYS_IN_USE, ROTATIONS, SIGNING_KEYS
from components.model.teams.queues import MANAGERS, has_queues
from components.render.admission import admission
from components.render.documents import HEADER, environment_file, yaml_document
from components.render.etcd_members import places
from components.render.file import File
from components.render.quarantine import refusal_files, refusing_client
from components.render.secrets import authority, certificate, trust
from contract.documents import issuers
from contract.documents.node import PATH as NODE
from contract.documents.node import NodeConfig
from contract.documents.secret_files import SecretFile
from contract.paths import PKI
from contract.ports import JOIN_PORT
from contract.users import ACCOUNTANT_ACCOUNT, AUTOSCALER_ACCOUNT, NODE_CONTROLLER_ACCOUNT

USER = "kube"
JOIN_USER = "node-join"

HEALTH_PATHS = ("/livez", "/readyz", "/healthz")


def files(environment: Environment, addresses: AddressPlan, machine: Machine) -> dict[str, File]:
    """Return the machine's arguments, configuration and ``node.json``."""
    node = NodeConfig(
        machine=machine.name,
        role=str(machine.role),
        index=machine.index,
        address=str(machine.address),
        port=environment.control_plane.api.port,
        join_port=JOIN_PORT,
        version=environment.versions.kubernetes,
        stores={str(role): places(environment, addresses, role) for role in (Role.ETCD, Role.EVENTS)},
        queues=has_queues(environment),
    )
    arguments = environment_file({"KUBE_APISERVER_ARGS": " ".join(_arguments(environment, addresses, machine))})
    return {
        "/etc/longhaul/admission.yaml": _private_file(yaml_document(admission(environment))),
        "/etc/longhaul/controller-manager.kubeconfig": _kubeconfig(environment, "controller-manager"),
        "/etc/longhaul/kube-apiserver.env": File(content=arguments),
        str(NODE): File(content=node.to_text()),
        "/etc/longhaul/quarantine.kubeconfig": _private_file(yaml_document(refusing_client())),
        "/etc/longhaul/scheduler.kubeconfig": _kubeconfig(environment, "scheduler"),
        **(_queues(environment) if has_queues(environment) else {}),
    }


def _queues(environment: Environment) -> dict[str, File]:
    """Return the kubeconfigs of the managers of queues, whose units start only with these files. Their other settings
    are the same everywhere, and in the image."""
    return {manager.kubeconfig: _kubeconfig(environment, manager.name, user=manager.name) for manager in MANAGERS}


def secret_files(environment: Environment, machine: Machine) -> tuple[SecretFile, ...]:
    """Return the secrets that the machine fetches. The programs themselves reload certificates, the authorities of
    clients, of servers (client-go 0.36, ``ClientsAllowCARotation``) and of the front proxy, the encryption keys, the
    issuers of people's tokens, and the lists of refused users; they read the rest only at their start. `longhaul
    rotate` restarts them, one after the other, after a change of service accounts' keys or of the authorities of etcd
    members and API servers."""
    return (
        certificate(machine, "apiserver", user=USER),
        certificate(machine, "kubelet-client", user=USER),
        certificate(machine, "etcd-client", user=USER),
        certificate(machine, "front-proxy-client", user=USER),
        certificate(machine, "controller-manager", user=USER),
        certificate(machine, "scheduler", user=USER),
        authority(f"{PKI}/nodes-authority.pem", NODES, user=USER),
        trust(f"{PKI}/kubernetes-ca.crt", KUBERNETES),
        # Authorities of clients' certificates: of programs, nodes and people.
        trust(f"{PKI}/client-ca.crt", KUBERNETES, NODES, ADMINISTRATORS),
        trust(f"{PKI}/nodes-ca.crt", NODES),
        trust(f"{PKI}/front-proxy-ca.crt", FRONT_PROXY),
        trust(f"{PKI}/etcd-ca.crt", "etcd", "events"),
        SecretFile(
            path=f"{PKI}/service-account.pem",
            content=f"${{{SIGNING_KEYS}:file}}",
            user=USER,
        ),
        SecretFile(path=f"{PKI}/rotations.json", content=f"${{{ROTATIONS}}}", mode=0o444),
        SecretFile(path=f"{PKI}/encryption.yaml", content=_encryption(), user=USER),
        SecretFile(path=issuers.PATH, content=_authentication(), mode=0o600, user=USER),
        *refusal_files(user=USER),
        certificate(machine, NODE_CONTROLLER_ACCOUNT, user=NODE_CONTROLLER_ACCOUNT),
        certificate(machine, AUTOSCALER_ACCOUNT, user=AUTOSCALER_ACCOUNT),
        certificate(machine, "join", user=JOIN_USER),
        *(_queues_certificates(machine) if has_queues(environment) else ()),
    )


def _queues_certificates(machine: Machine) -> tuple[SecretFile, ...]:
    """Return the certificates of the accountant and of the managers of queues. All programs reload them when they
    change (controller-runtime 0.24, pkg/certwatcher; client-go 0.36, transport/cert_rotation.go)."""
    parts = (
        *((part, manager.name) for manager in MANAGERS for part in (manager.name, manager.serving)),
        (ACCOUNTANT_ACCOUNT, ACCOUNTANT_ACCOUNT),
    )
    return tuple(certificate(machine, part, user=user) for part, user in parts)


def _arguments(environment: Environment, addresses: AddressPlan, machine: Machine) -> tuple[str, ...]:
    port = environment.control_plane.api.port
    return (
        f"--advertise-address={machine.address}",
        f"--external-hostname={environment.api_name}",
        f"--secure-port={port}",
        # The cluster's own name, so that it accepts no other cluster's tokens.
        f"--service-account-issuer=https://{environment.api_name}:{port}",
        f"--service-cluster-ip-range={addresses.services}",
        *api_arguments(environment),
    )


@cache
def _authentication() -> str:
    """Return the authentication configuration. The vault has the issuers, as a list in JSON, which is also YAML, so a
    change of the issuers does not change user data. Anonymous requests reach only the health endpoints, because load
    balancers have no identity; a running kube-apiserver accepts no change of ``anonymous``."""
    return yaml_document(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AuthenticationConfiguration",
            issuers.FIELD: f"${{{ISSUERS}:{issuers.FIELD}}}",
            "anonymous": {"enabled": True, "conditions": [{"path": path} for path in HEALTH_PATHS]},
        }
    )


@cache
def _encryption() -> str:
    """Return the encryption configuration. Secrets are encrypted from the start, so no ``identity`` provider is needed
    to read plain ones. secretbox is strong, and unlike aesgcm its key need not change every 200,000 writes
    (kubernetes.io, "Encrypting Confidential Data at Rest"). The vault has the keys, as a list in JSON, which is also
    YAML, so a rotation does not change user data."""
    keys = f"${{{KEYS_IN_USE}}}"
    return yaml_document(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": list(ENCRYPTED), "providers": [{"secretbox": {"keys": keys}}]}],
        }
    )


def _kubeconfig(environment: Environment, component: str, *, user: str = USER) -> File:
    """Return a kubeconfig for the machine's own API server: the load balancer does not route a machine back to
    itself."""
    name = environment.name
    pem = f"{PKI}/{component}.pem"
    server = f"https://127.0.0.1:{environment.control_plane.api.port}"
    cluster = {"server": server, "certificate-authority": f"{PKI}/kubernetes-ca.crt"}
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": component, "user": {"client-certificate": pem, "client-key": pem}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": component}}],
        "current-context": name,
    }
    return _private_file(yaml_document(value), user=user)


def _private_file(content: str, *, user: str = USER) -> File:
    """Return a file that only a program's user may read."""
    return File(content=HEADER + content, mode=0o600, owner=f"{user}:{user}")
