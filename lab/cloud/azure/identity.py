"""Entra ID: principals and their tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
import uuid
from pathlib import Path
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from contract.azure import SIGN_IN_HOST
from lab.cloud.azure.access import Principal
from lab.cloud.store import DocumentStore

LIFE_S = 3599
"""Life of an application's token in seconds: learn.microsoft.com/entra/identity-platform/access-tokens says 60 to 90
minutes."""
MANAGED_LIFE_S = 86399
"""Life of a managed identity's token in seconds: learn.microsoft.com/entra/identity/managed-identities-azure-resources
says 24 hours."""


OPERATOR_PRINCIPAL = "00000000-0000-4000-8000-000000000003"
"""Object id of the operator. It is fixed, because an environment's file names the principal that may write to its
vault. The secret is not fixed."""


class TokenError(Exception):
    """Raised for a token that is missing, has another audience, has expired, or was not signed here."""


class TokenEndpoints:
    """The tenant's signing key, its one application (the operator), and the token endpoints.

    Raises:
        OSError: the key cannot be written.
    """

    def __init__(self, *, state: Path, store: DocumentStore, tenant: str) -> None:
        self._key = _signing_key(state / "token-signing.pem")
        self._kid = hashlib.sha256(_public_bytes(self._key)).hexdigest()[:16]
        self._store = store
        self.tenant = tenant
        self.operator = _operator(store)

    def token(self, *, object_id: str, app_id: str, audience: str, life_s: int = LIFE_S, resource_id: str = "") -> str:
        """Sign an access token, and return it."""
        now = int(time.time())
        claims = {
            "aud": audience,
            "iss": f"https://sts.windows.net/{self.tenant}/",
            "iat": now,
            "nbf": now,
            "exp": now + life_s,
            "appid": app_id,
            "appidacr": "1",
            "idtyp": "app",
            "oid": object_id,
            "sub": object_id,
            "tid": self.tenant,
            "ver": "1.0",
        }
        if resource_id:
            claims["xms_mirid"] = resource_id
        return jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": self._kid})

    def verify(self, header: str | None, *, audiences: tuple[str, ...]) -> Principal:
        """Return the bearer of an Authorization header.

        Raises:
            TokenError: the token is refused; the message has the reason, never the token.
        """
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise TokenError("no bearer token")
        accepted = [variant for audience in audiences for variant in (audience, f"{audience}/")]
        try:
            claims = jwt.decode(token, self._key.public_key(), algorithms=["RS256"], audience=accepted)
        except jwt.InvalidTokenError as problem:
            raise TokenError(str(problem)) from problem
        return Principal(object_id=claims["oid"], app_id=claims["appid"], tenant=claims["tid"])

    def claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a token of this tenant, for another cloud that trusts the tenant and checks the audience
        itself.

        Raises:
            TokenError: the token was not signed here, or is not valid now.
        """
        try:
            decoded: dict[str, Any] = jwt.decode(
                token,
                self._key.public_key(),
                algorithms=["RS256"],
                issuer=f"https://sts.windows.net/{self.tenant}/",
                options={"verify_aud": False, "require": ["iss", "aud", "sub", "exp"]},
            )
        except jwt.InvalidTokenError as problem:
            raise TokenError(str(problem)) from problem
        return decoded

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request to ``login.microsoftonline.com``."""
        parts = [part for part in request.path.split("/") if part]
        if parts == ["common", "discovery", "instance"]:
            return web.json_response(_instances(self.tenant))
        if len(parts) < 2 or parts[0].lower() not in (self.tenant.lower(), "common", "organizations"):
            return _error(400, "invalid_tenant", f"AADSTS90002: Tenant '{parts[0] if parts else ''}' not found.", 90002)
        tail = "/".join(parts[1:]).lower()
        if request.method == "GET" and tail.endswith(".well-known/openid-configuration"):
            return web.json_response(_metadata(parts[0]))
        if request.method == "GET" and tail.endswith("discovery/v2.0/keys"):
            return web.json_response({"keys": [self._jwk()]})
        if request.method == "POST" and tail in ("oauth2/v2.0/token", "oauth2/token"):
            form = {key: str(value) for key, value in (await request.post()).items()}
            return self._issue(form, first_version=tail == "oauth2/token")
        return _error(404, "not_found", f"The lab's Entra ID does not answer {request.method} {request.path}.", 900144)

    def _issue(self, form: dict[str, str], *, first_version: bool) -> web.Response:
        if form.get("grant_type") != "client_credentials":
            text = f"AADSTS70003: The app requested an unsupported grant type '{form.get('grant_type')}'."
            return _error(400, "unsupported_grant_type", text, 70003)
        if form.get("client_id") != self.operator["clientId"]:
            who = f"Application with identifier '{form.get('client_id')}'"
            text = f"AADSTS700016: {who} was not found in the directory '{self.tenant}'."
            return _error(400, "unauthorized_client", text, 700016)
        if not hmac.compare_digest(form.get("client_secret", ""), self.operator["clientSecret"]):
            text = f"AADSTS7000215: Invalid client secret provided for app '{form['client_id']}'."
            return _error(401, "invalid_client", text, 7000215)
        audience = form.get("resource") if first_version else form.get("scope", "").removesuffix("/.default")
        if not audience:
            text = "AADSTS1002012: The provided value for scope is not valid: it must end in /.default."
            return _error(400, "invalid_scope", text, 1002012)
        token = self.token(
            object_id=self.operator["principalId"], app_id=self.operator["clientId"], audience=audience.rstrip("/")
        )
        now = int(time.time())
        answer: dict[str, Any] = {
            "token_type": "Bearer",
            "expires_in": LIFE_S,
            "ext_expires_in": LIFE_S,
            "access_token": token,
        }
        if first_version:
            times = {"expires_in": str(LIFE_S), "expires_on": str(now + LIFE_S), "not_before": str(now)}
            answer |= {**times, "resource": audience}
        return web.json_response(answer)

    def _jwk(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        return {"kty": "RSA", "use": "sig", "kid": self._kid, "n": _b64(numbers.n), "e": _b64(numbers.e)}


def _operator(store: DocumentStore) -> dict[str, str]:
    """Return the operator's service principal; make it the first time."""
    record: dict[str, str] | None = store.record("operator", "operator")
    if record is None:
        record = {
            "clientId": str(uuid.uuid4()),
            "principalId": OPERATOR_PRINCIPAL,
            "clientSecret": secrets.token_urlsafe(30),
        }
        store.set_record("operator", "operator", record)
    return record


def _signing_key(path: Path) -> rsa.RSAPrivateKey:
    if path.exists():
        # To validate a key takes as long as to make one, and this one was made here.
        loaded = serialization.load_pem_private_key(path.read_bytes(), None, unsafe_skip_rsa_key_validation=True)
        if isinstance(loaded, rsa.RSAPrivateKey):
            return loaded
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.touch(mode=0o600)
    path.write_bytes(pem)
    return key


def _public_bytes(key: rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _b64(number: int) -> str:
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _metadata(tenant: str) -> dict[str, Any]:
    base = f"https://{SIGN_IN_HOST}/{tenant}"
    return {
        "token_endpoint": f"{base}/oauth2/v2.0/token",
        "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
        "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
        "jwks_uri": f"{base}/discovery/v2.0/keys",
        "issuer": f"{base}/v2.0",
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
        "response_types_supported": ["code", "id_token"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "subject_types_supported": ["pairwise"],
        "tenant_region_scope": None,
        "cloud_instance_name": "microsoftonline.com",
    }


def _instances(tenant: str) -> dict[str, Any]:
    hosts = {
        "preferred_network": SIGN_IN_HOST,
        "preferred_cache": "login.windows.net",
        "aliases": [SIGN_IN_HOST, "login.windows.net"],
    }
    return {
        "tenant_discovery_endpoint": f"https://{SIGN_IN_HOST}/{tenant}/v2.0/.well-known/openid-configuration",
        "api-version": "1.1",
        "metadata": [hosts],
    }


def _error(status: int, code: str, text: str, number: int) -> web.Response:
    return web.json_response({"error": code, "error_description": text, "error_codes": [number]}, status=status)
