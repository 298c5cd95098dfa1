"""Programs that run in an environment and try what they must not be able to do: each is text for ``python3 -c``."""

from __future__ import annotations

PROBE = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def there(place):
    with socket.socket() as probe:
        probe.settimeout(2)
        try:
            probe.connect(tuple(place))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        return True
places = json.loads(sys.argv[1])
with ThreadPoolExecutor(128) as threads:
    print(json.dumps(sorted({place[0] for place, found in zip(places, threads.map(there, places)) if found})))
"""
"""Prints those addresses among the places that answer. One that refuses counts: it was reached."""

IDENTITY = """
import json, urllib.request
url = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://vault.azure.net"
with urllib.request.urlopen(urllib.request.Request(url, headers={"Metadata": "true"})) as answer:
    print(json.load(answer)["access_token"])
"""
"""Prints a machine's token for vaults."""

SIGN_IN = """
import json, os, urllib.parse, urllib.request
form = {"grant_type": "client_credentials", "client_id": os.environ["AZURE_CLIENT_ID"]}
form |= {"client_secret": os.environ["AZURE_CLIENT_SECRET"], "scope": "https://vault.azure.net/.default"}
url = f"https://login.microsoftonline.com/{os.environ['AZURE_TENANT_ID']}/oauth2/v2.0/token"
with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode()) as answer:
    print(json.load(answer)["access_token"])
"""
"""Prints the operator's token; the operator owns the one subscription."""

CREDENTIALS = """
import sys
sys.path.insert(0, "/usr/local/lib/longhaul")
from machine.metadata import METADATA, ask
life = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
held = {"X-aws-ec2-metadata-token": ask(f"{METADATA}/latest/api/token", headers=life, method="PUT")}
folder = f"{METADATA}/latest/meta-data/iam/security-credentials/"
print(ask(folder + ask(folder, headers=held).split()[0], headers=held))
"""
"""Prints the credentials that a pool's machine proves its identity with."""

PROVE = """
import json, sys
from pathlib import Path
sys.path.insert(0, "/usr/local/lib/longhaul")
from node import attest as node_attest
from node import proofs as node_proofs
node, stolen = sys.argv[1:]
own = node_proofs.ask
def ask(url, **more):
    return stolen if "/iam/security-credentials/" in url and not url.endswith("/") else own(url, **more)
node_proofs.ask = ask
settings = node_attest.JoinSettings(**json.loads(Path("/etc/longhaul/node.json").read_text())["join"])
folder = Path("/run/test-two")
paths = node_attest.JoinPaths(key=folder / "key", folder=folder, kubeconfig=folder / "kubeconfig")
try:
    node_attest.join(node, settings, node_proofs.prover("aws"), paths=paths)
except node_attest.JoinError as error:
    print(error)
    sys.exit(1)
"""
"""Joins the machine's own cluster as ``node``, with the credentials of another machine."""
