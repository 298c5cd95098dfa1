"""Refusal of machines in quarantine and of people whose access was revoked: answers every authorization request with a
denial.

kube-apiserver asks here only about those users (components/render/quarantine.py). So there is nothing to decide, and
the question affects only the words of the answer.
"""

from __future__ import annotations

import json
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GIVEN = 3
"""File descriptor of the socket that systemd gives (sd_listen_fds(3), ``SD_LISTEN_FDS_START``)."""
LARGEST = 1024 * 1024
"""Largest question in bytes; kube-apiserver's have a few hundred, and contain at most a user's groups and a
selector."""
SILENCE_S = 30.0
"""Longest time in seconds without a byte."""
MACHINE = b'"user":"system:node:'
"""Part of the question about a machine (kubernetes.io, "Using Node Authorization")."""
REASONS = {
    True: "this machine is in quarantine: `longhaul status` names it",
    False: "this person's access was revoked: `longhaul access show` names them",
}


def denial(question: bytes) -> bytes:
    """Return the answer to a question."""
    status = {"allowed": False, "denied": True, "reason": REASONS[MACHINE in question]}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {}, "status": status}
    return json.dumps(review).encode()


class ReviewHandler(BaseHTTPRequestHandler):
    """One connection of kube-apiserver, which keeps it open."""

    protocol_version = "HTTP/1.1"
    timeout = SILENCE_S
    server_version, sys_version = "longhaul-quarantine", ""

    def do_POST(self) -> None:
        """Deny."""
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
        """Log nothing: the audit log has each request with its refusal."""


def serve(listening: socket.socket) -> None:
    """Answer on a listening socket."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ReviewHandler, bind_and_activate=False)
    server.socket.close()
    server.socket = listening
    server.daemon_threads = True
    server.serve_forever()


def main() -> int:
    """Run the service."""
    serve(socket.socket(fileno=GIVEN))
    return 0
