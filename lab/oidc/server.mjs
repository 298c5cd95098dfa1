// The lab's identity provider: `node server.mjs MODULES SETTINGS`. MODULES holds node_modules (lab/oidc/provider.py), SETTINGS is a
// JSON file. Whoever gives the name of a person is that person, with any password: these people are made up, and no company has them.
//
// Settings: issuer, address, port, certificate and key (paths, PEM), jwks (with private keys), clients ({id: seconds of a token's life}),
// people ({name: claims}).
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { pathToFileURL } from "node:url";

const [modules, file] = process.argv.slice(2);
const settings = JSON.parse(readFileSync(file, "utf8"));
const { default: Provider } = await import(pathToFileURL(`${modules}/node_modules/oidc-provider/lib/index.js`));

const SCOPES = ["openid", "profile", "email", "offline_access"];
const CLAIMS = ["sub", "email", "email_verified", "groups", "name", "oid"];

const client = (id) => ({
  client_id: id,
  // A program on people's own machines keeps no secret (RFC 8252, section 8.4).
  application_type: "native",
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
  redirect_uris: ["http://localhost", "http://127.0.0.1"],
});

const provider = new Provider(settings.issuer, {
  clients: Object.keys(settings.clients).map(client),
  jwks: settings.jwks,
  cookies: { keys: [settings.issuer] },
  scopes: SCOPES,
  claims: { openid: CLAIMS },
  // Claims are in the ID token, which is all that an API server sees.
  conformIdTokenClaims: false,
  features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  ttl: { IdToken: (ctx, token, used) => settings.clients[used.clientId] },
  findAccount: async (ctx, name) => {
    // Read each time: a person may leave while the provider runs.
    const found = JSON.parse(readFileSync(file, "utf8")).people[name];
    return found && { accountId: name, claims: async () => ({ sub: name, ...found }) };
  },
});
const tls = { cert: readFileSync(settings.certificate), key: readFileSync(settings.key) };
createServer(tls, provider.callback()).listen(settings.port, settings.address, () => console.log("ready"));
