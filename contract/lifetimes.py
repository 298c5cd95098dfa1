"""Lifetimes of credentials: certificates, tokens, and kubeconfigs, which contain either."""

from __future__ import annotations

from datetime import timedelta

CLOCK_SKEW = timedelta(minutes=5)
"""Time before its making from which a certificate is valid, for machines and laptops whose clocks lag."""

# People.

ADMINISTRATOR_HOURS = 8
"""Lifetime of an administrator's certificate and of the kubeconfig with it, made on demand: a working day. The one that
`longhaul up` makes for itself lives as long."""

SIGN_IN_TOKEN_HOURS = 24
"""Longest lifetime of a token with which people sign in. An issuer of the environment file may have less
(`token_hours`); API servers refuse tokens that live longer, since nobody can revoke them."""

VPN_CERTIFICATE_HOURS = 1
"""Longest lifetime of a laptop's certificate for the VPN. It expires with the person's token at the latest."""

PROFILE_DAYS = 180
"""Lifetime of the profile that operators give to people: an authority in it may have been replaced by then."""

# Nodes.

HOST_TOKEN_HOURS = 1
"""Lifetime of the one-time token with which a bare-metal host joins. The node controller deletes it after use."""

NODE_CERTIFICATE_DAYS = 30
"""Longest lifetime of a node's certificate, set in kube-node-signer.service. It cannot be revoked, so it is short: a
stolen certificate is useful for at most this long, with Kubernetes' default for a year. Kubelets renew at 70 to 90 %
(client-go, ``jitteryDuration``), so an isolated node has at least three days; after that a cloud's node joins again by
itself, a host with the next `longhaul up`."""

# The control plane, and programs in the cluster.

AUTHORITY_DAYS = 3650
"""Lifetime of an authority: ten years, as with kubeadm (kubernetes.io, "Certificate Management with kubeadm")."""

CERTIFICATE_DAYS = 365
"""Lifetime of a certificate of the control plane's machines and services, of the VPN's, and of the break-glass one: one
year, as with kubeadm; renewed when less than a third is left."""

SERVICE_ACCOUNT_TOKEN_HOURS = 24
"""Longest lifetime of a service account's token: ``--service-account-max-token-expiration`` of
kube-apiserver.service."""
