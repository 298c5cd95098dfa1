"""Authorization webhook that denies every request, for machines in quarantine and people whose access was revoked.

kube-apiserver asks this webhook only about such users (components/render/quarantine.py). So there is nothing to decide,
and the request determines only the reason in the answer.
"""

from __future__ import annotations

import json
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GIVEN = 3
"""File descriptor of the socket from systemd (sd_listen_fds(3), ``SD_LISTEN_FDS_START``)."""
LARGEST = 1024 * 1024
"""Largest request in bytes. kube-apiserver's requests have a few hundred bytes. The largest parts are a user's groups
and a selector."""
SILENCE_S = 30.0
"""Longest time in seconds without a byte."""
MACHINE = b'"user":"system:node:'
"""Part of every request about a machine (kubernetes.io, "Using Node Authorization")."""
REASONS = {
    True: "this machine is in quarantine: `longhaul status` names it",
    False: "this person's access was revoked: `longhaul access show` names them",
}


def denial(question: bytes) -> bytes:
    """Return the answer to a request."""
    status = {"allowed": False, "denied": True, "reason": REASONS[MACHINE in question]}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {}, "status": status}
    return json.dumps(review).encode()


class ReviewHandler(BaseHTTPRequestHandler):
    """Handler of one connection of kube-apiserver, which keeps its connection open."""

    protocol_version = "HTTP/1.1"
    timeout = SILENCE_S
    server_version, sys_version = "longhaul-quarantine", ""

    def do_POST(self) -> None:
        """Answer with a denial."""
        length, question = self.headers.get("Content-Length", ""), b""
        if not (length.isascii() and length.isdigit()) or int(length) > LARGEST:
            # The question was not read, so the position of the next one is unknown.
            self.close_connection = True
        else:
            question = self.rfile.read(int(length))
        content = denial(question)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, because the audit log has each request with its refusal."""


def serve(listening: socket.socket) -> None:
    """Answer requests on a listening socket."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ReviewHandler, bind_and_activate=False)
    server.socket.close()
    server.socket = listening
    server.daemon_threads = True
    server.serve_forever()


def main() -> int:
    """Run the service."""
    serve(socket.socket(fileno=GIVEN))
    return 0
