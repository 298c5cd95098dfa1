"""Files of a machine of the laptops' VPN: OpenVPN, the packet filter behind it, kube-proxy, and the sign-in endpoint
with its signer. Settings that are the same on every machine are in the units,
images/rootfs/etc/systemd/system/longhaul-vpn*.

A laptop has an address only inside its tunnel. Everywhere else its packets come from the VPN machine. So rules of the
network see one known range, nothing can open a connection to a laptop, and no laptop can impersonate another.
"""

from __future__ import annotations

from typing import Any

from clouds.base.openvpn import PORT, SIGN_IN_PORT
from components.model import AddressPlan, Environment, Machine
from components.model.network.api_address import api_url, cluster_for_laptops
from components.model.secrets.certificates import KUBERNETES, VPN
from components.model.secrets.vault import REVOKED, VPN_KEY, VPN_REMOTES
from components.model.vpn.section import RIGHT
from components.render.documents import HEADER, json_document, yaml_document
from components.render.file import File
from components.render.kube_proxy import configuration, kubeconfig
from components.render.secrets import authority, certificate, trust
from contract.documents import revoked
from contract.documents.node import PATH as NODE
from contract.documents.node import NodeConfig
from contract.documents.secret_files import SecretFile
from contract.lifetimes import VPN_CERTIFICATE_HOURS
from contract.object_names import CLUSTER_DOMAIN
from contract.paths import PKI, VPN_MANAGEMENT

DOOR_USER = "vpn-door"
"""User of the sign-in endpoint, to which strangers connect."""
SIGNER_USER = "vpn-signer"
"""User of the program that signs laptops' certificates."""
TUNNEL_USER = "vpn-tunnel"
"""User of OpenVPN."""

DEVICE = "tun0"
KUBE_PROXY_KUBECONFIG = "/etc/longhaul/kube-proxy.kubeconfig"

MOST_LAPTOPS = 500
"""Largest number of laptops on one machine at once; their range holds 509."""
RENEW_S = 600
"""Seconds after which a laptop shows its certificate again, and keys change. An hour is OpenVPN's own default."""
OLD_KEYS_S = 60
"""Seconds for which former keys stay valid after a change. A laptop whose certificate has expired by then is cut
off."""

NEW_LAPTOPS = "20 1"
"""Largest number of new connections, and the seconds within which it counts: OpenVPN waits for vpn/verify.py at each
connection. When a machine returns, all of its laptops are back in half a minute."""
FIRST_PACKETS = "1000 10"
"""Largest number of answers to first packets of connections, and the seconds within which it counts. OpenVPN's own
default is a tenth of the number. Whoever ever had the key of ``tls-crypt`` can use them up, so :data:`FIRST_OF_ONE`
limits the part of each address."""
FIRST_OF_ONE = "limit rate over 10/second burst 50 packets"
"""Limit above which first packets of one address are dropped; an office may share an address."""
PING_S, SILENT_S = 2, 6
"""Seconds without traffic after which a side sends a ping, and seconds of silence after which a laptop gives a machine
up. The laptop tries that machine once more, for three seconds (longhaul/client/vpn/openvpn_file.py), and is on the
other within 15: OpenVPN's "Implementing a load-balancing/failover configuration" has the order."""


def files(environment: Environment, addresses: AddressPlan, machine: Machine) -> dict[str, File]:
    """Return the machine's configuration and ``node.json``."""
    node = NodeConfig(
        machine=machine.name,
        role=str(machine.role),
        index=machine.index,
        address=str(machine.address),
        port=environment.control_plane.api.port,
        sign_in_port=SIGN_IN_PORT,
        version=environment.versions.kubernetes,
        stores={},
    )
    proxy = configuration(addresses.supernet, kubeconfig=KUBE_PROXY_KUBECONFIG)
    client = kubeconfig(environment, addresses, credential=f"{PKI}/kube-proxy.pem")
    return {
        "/etc/longhaul/kube-proxy.kubeconfig": File(content=HEADER + yaml_document(client), mode=0o600),
        "/etc/longhaul/kube-proxy.yaml": File(content=HEADER + yaml_document(proxy), mode=0o600),
        str(NODE): File(content=node.to_text()),
        "/etc/longhaul/openvpn.conf": File(content=HEADER + _openvpn(environment, addresses, machine)),
        "/etc/longhaul/vpn-signer.json": File(content=json_document(_signer(environment, addresses))),
        "/etc/longhaul/vpn.nft": File(content=HEADER + _filter(addresses, machine)),
    }


def secret_files(
    environment: Environment,  # noqa: ARG001  (as its neighbours)
    machine: Machine,
) -> tuple[SecretFile, ...]:
    """Return the secrets that the machine fetches. Only the signer has the key that signs. Strangers connect to the
    sign-in endpoint, so laptops do not accept its certificate for OpenVPN. OpenVPN reads certificates only at its
    start, and restarts when they change (longhaul-vpn-renewed.path); the other programs reload them."""
    return (
        certificate(machine, "kube-proxy", user="root"),
        certificate(machine, "vpn", user="root"),
        certificate(machine, "vpn-door", user=DOOR_USER),
        trust(f"{PKI}/vpn-ca.crt", VPN),
        trust(f"{PKI}/kubernetes-ca.crt", KUBERNETES),
        authority(f"{PKI}/vpn-authority.pem", VPN, user=SIGNER_USER),
        SecretFile(path=f"{PKI}/vpn-key", content=f"${{{VPN_KEY}}}"),
        SecretFile(path=f"{PKI}/laptop-key", content=f"${{{VPN_KEY}}}", user=SIGNER_USER),
        SecretFile(path="/etc/longhaul/vpn-remotes.json", content=f"${{{VPN_REMOTES}}}\n", mode=0o444),
        SecretFile(path=revoked.PATH, content=f"${{{REVOKED}}}\n", mode=0o444),
    )


def _openvpn(environment: Environment, addresses: AddressPlan, machine: Machine) -> str:
    """Return OpenVPN's configuration (OpenVPN 2.6, doc/man-sections). A person may have several laptops, each with its
    own mark (vpn/certificate.py in images/rootfs). Laptops do not see each other, and no route leads through a
    laptop."""
    tunnel, supernet = addresses.tunnel_range(machine.index), addresses.supernet
    pushed = (
        f"route {supernet.network_address} {supernet.netmask}",
        f"dhcp-option DNS {addresses.dns_service}",
        *(f"dhcp-option DOMAIN-ROUTE {zone}" for zone in (environment.domain, CLUSTER_DOMAIN)),
    )
    lines = (
        "proto udp4",
        f"port {PORT}",
        f"dev {DEVICE}",
        "topology subnet",
        f"server {tunnel.network_address} {tunnel.netmask}",
        f"max-clients {MOST_LAPTOPS}",
        f"connect-freq {NEW_LAPTOPS}",
        f"connect-freq-initial {FIRST_PACKETS}",
        "x509-username-field CN UID",
        *(f'push "{option}"' for option in pushed),
        f"ca {PKI}/vpn-ca.crt",
        f"cert {PKI}/vpn.pem",
        f"key {PKI}/vpn.pem",
        "dh none",
        f"tls-crypt {PKI}/vpn-key",
        "tls-version-min 1.3",
        "remote-cert-tls client",
        "data-ciphers AES-256-GCM:CHACHA20-POLY1305",
        "script-security 2",
        "tls-verify /usr/local/lib/longhaul/vpn/verify.py",
        f"reneg-sec {RENEW_S}",
        f"tran-window {OLD_KEYS_S}",
        f"keepalive {PING_S} {SILENT_S}",
        "explicit-exit-notify 2",
        f"management {VPN_MANAGEMENT} unix",
        "management-client-user root",
        f"user {TUNNEL_USER}",
        f"group {TUNNEL_USER}",
        "persist-key",
        "persist-tun",
        "verb 3",
    )
    return "".join(f"{line}\n" for line in lines)


def _signer(environment: Environment, addresses: AddressPlan) -> dict[str, Any]:
    """Return the signer's settings: where it asks about people, and what laptops get."""
    return {
        "api": api_url(environment, addresses),
        "right": RIGHT,
        "hours": VPN_CERTIFICATE_HOURS,
        "cluster": cluster_for_laptops(environment),
    }


def _filter(addresses: AddressPlan, machine: Machine) -> str:
    """Return the packet filter. Packets out of a tunnel must come from its range, and may go only to the environment:
    neither to this machine nor to another laptop. First packets of connections to OpenVPN begin with
    P_CONTROL_HARD_RESET_CLIENT_V2 or V3 and key 0 (OpenVPN 2.6, src/openvpn/ssl_pkt.h). They are limited by source,
    even when they seem to belong to an existing flow."""
    # The byte after UDP's header.
    first = f"udp dport {PORT} @th,64,8 {{ 0x38, 0x50 }}"
    of_one = f"@begins {{ ip saddr {FIRST_OF_ONE} }}"
    return f"""\
table inet longhaul_vpn
delete table inet longhaul_vpn
table inet longhaul_vpn {{
  set begins {{
    type ipv4_addr; size 65536; flags dynamic, timeout; timeout 1m;
  }}
  chain input {{
    type filter hook input priority filter; policy drop;
    iifname "lo" accept
    iifname "{DEVICE}" counter drop
    {first} add {of_one} counter drop
    ct state established,related accept
    # ICMP.
    meta l4proto 1 accept
    udp dport {PORT} accept
    tcp dport {SIGN_IN_PORT} accept
  }}
  chain forward {{
    type filter hook forward priority filter; policy drop;
    ct state established,related accept
    ip saddr != {addresses.tunnel_range(machine.index)} counter drop
    ip daddr {addresses.laptops} counter drop
    tcp flags syn tcp option maxseg size set rt mtu
    iifname "{DEVICE}" oifname != "{DEVICE}" ip daddr {addresses.supernet} accept
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr {addresses.tunnel_range(machine.index)} oifname != "{DEVICE}" masquerade
  }}
}}
"""
