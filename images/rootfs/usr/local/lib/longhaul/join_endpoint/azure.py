"""Identification of Azure machines by two documents that Azure signs for a machine: an attested document and a token.

The attested document names the machine (``vmId``) and contains the endpoint's challenge, ten digits made for one key.
The token of the scale set's identity names the scale set. A token alone would not identify the machine, because any
machine of the scale set can have it, for a day. Document and token must be of the same subscription, which must contain
a site.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from contract.certificate_requests import Attested, RefusedError
from contract.documents.node_controller import NodeEnvironment, NodeSite
from join_endpoint import azure_documents, azure_tokens
from join_endpoint.proof import ProofQuestion, check_fresh, text

_BASE64 = r"[A-Za-z0-9+/]{64,32768}={0,2}"
_JWT = r"[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,16384}\.[A-Za-z0-9_-]{8,2048}"
_CHAIN = 4
"""Largest number of certificates between the signer's certificate and an authority. In practice there is one."""
_SET = re.compile(
    r"/subscriptions/([^/]+)/resourcegroups/([^/]+)/providers/microsoft\.compute/virtualmachinescalesets/([^/]+)"
)


class AzureProofs:
    """Verifier of Azure proofs, which consist of a document and a token. It keeps the tenants' keys."""

    def __init__(
        self,
        *,
        roots: Path = azure_documents.ROOTS,
        tenant: Callable[[str], azure_tokens.Tenant] = azure_tokens.Tenant,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._roots, self._tenant, self._now = roots, tenant, now
        self._tenants: dict[str, azure_tokens.Tenant] = {}

    def attested(self, proof: Mapping[str, object], question: ProofQuestion) -> Attested:
        """Return the machine, and the site whose pool has the machine's scale set. Raise ``RefusedError`` if the proof
        is wrong, and ``SourceError`` if the tenant's keys are not known now."""
        document = azure_documents.verified(_signature(proof), _chain(proof), roots=self._roots)
        if document.nonce != question.challenge:
            raise RefusedError("StaleProof", "the attested document is no answer to this challenge")
        check_fresh(document.created, now=self._now())
        site = self._site(question.environment, document.subscription, text(proof, "token", _JWT))
        return Attested(site=site, machine=document.machine)

    def _site(self, environment: NodeEnvironment, subscription: str, token: str) -> str:
        """Return the name of the site whose pool has the token's scale set."""
        sites = [site for site in environment.sites_of("azure") if site.subscription.lower() == subscription]
        if not sites:
            raise RefusedError("ForeignProof", f"no site of this environment is in subscription {subscription}")
        tenant = sites[0].tenant
        keys = self._tenants.setdefault(tenant, self._tenant(tenant))
        resource = str(azure_tokens.claims(token, keys, now=self._now()).get("xms_mirid", "")).lower()
        name = next((site.name for site in sites if _holds(environment, site, resource)), "")
        if not name:
            raise RefusedError("ForeignProof", "the token is of no scale set that is a pool of this environment")
        return name


def _holds(environment: NodeEnvironment, site: NodeSite, resource: str) -> bool:
    """Return whether a resource is the scale set of one of the site's pools."""
    match = _SET.fullmatch(resource)
    place = (site.subscription.lower(), site.resource_group.lower())
    groups = {group.lower() for pool in environment.pools_of(site.name) for group in pool.groups}
    return match is not None and match.groups()[:2] == place and match[3] in groups


def _signature(proof: Mapping[str, object]) -> bytes:
    try:
        return base64.b64decode(text(proof, "document", _BASE64), validate=True)
    except ValueError:
        raise RefusedError("Malformed", "the proof's document is not base64") from None


def _is_pem(value: object) -> bool:
    """Return whether the value is text that can be written to a PEM file. The text is not parsed here."""
    return isinstance(value, str) and value.isascii()


def _chain(proof: Mapping[str, object]) -> list[str]:
    chain = proof.get("chain", [])
    if not isinstance(chain, list) or len(chain) > _CHAIN or not all(map(_is_pem, chain)):
        raise RefusedError("Malformed", f"the proof's chain is not a list of at most {_CHAIN} certificates")
    return chain
