"""Lifetimes of credentials: certificates, tokens, and kubeconfigs, which contain certificates or tokens."""

from __future__ import annotations

from datetime import timedelta

CLOCK_SKEW = timedelta(minutes=5)
"""Time by which a certificate's validity begins before the certificate is made, for machines and laptops whose clocks
lag."""

# People.

ADMINISTRATOR_HOURS = 8
"""Lifetime of an administrator's certificate, and of the kubeconfig that contains it: a working day. The certificate is
made on demand. The certificate that `longhaul up` makes for itself has the same lifetime."""

SIGN_IN_TOKEN_HOURS = 24
"""Longest lifetime of a token with which people sign in. The environment file may set a shorter lifetime for an issuer
(`token_hours`). API servers refuse tokens with a longer lifetime, because nobody can revoke a token."""

VPN_CERTIFICATE_HOURS = 1
"""Longest lifetime of a laptop's certificate for the VPN. It expires with the person's token at the latest."""

VPN_RENEWED_AT = 0.75
"""Share of the lifetime of a laptop's VPN certificate after which the laptop renews it."""

PROFILE_DAYS = 180
"""Lifetime of the profile that operators give to people. After this time an authority in the profile may have been
replaced."""

# Nodes.

HOST_TOKEN_HOURS = 1
"""Lifetime of the one-time token with which a bare-metal host joins. The node controller deletes the token after
use."""

NODE_CERTIFICATE_DAYS = 30
"""Longest lifetime of a node's certificate, set in kube-node-signer.service. A node's certificate cannot be revoked, so
its lifetime is short: a stolen certificate is useful for at most this time, compared to one year with Kubernetes'
default. Kubelets renew after 70 to 90 % of the lifetime (client-go, ``jitteryDuration``), so a node may be isolated for
at least three days. After that, a cloud's node joins again by itself, and a host with the next `longhaul up`."""

# The control plane, and programs in the cluster.

AUTHORITY_DAYS = 3650
"""Lifetime of an authority: ten years, as with kubeadm (kubernetes.io, "Certificate Management with kubeadm")."""

CERTIFICATE_DAYS = 365
"""Lifetime of the certificates of the control plane's machines and services, of the VPN's certificates, and of the
break-glass certificate: one year, as with kubeadm."""

RENEW_BELOW = 1 / 3
"""`longhaul up` renews a certificate of the control plane when less than this share of its lifetime is left."""

SERVICE_ACCOUNT_TOKEN_HOURS = 24
"""Longest lifetime of a service account's token: ``--service-account-max-token-expiration`` of
kube-apiserver.service."""
