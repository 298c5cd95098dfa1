"""A machine's program at an API server: its files are renewed in place."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.control_plane import issuing
from contract.kubernetes.connection import ApiError
from contract.kubernetes.machine import MachineApi
from tests.contract.kubernetes.test_client import Server, serial_of


class Place:
    """An authority, a server with a certificate of it, and a client's files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file, self.trust = folder / "client.pem", folder / "ca.crt"
        self.authority = self.new_authority()
        self.trust.write_text(self.authority.certificate)
        self.server = Server(self.context())

    @staticmethod
    def new_authority() -> issuing.Pair:
        return issuing.new_authority(common_name="test", days=1, key=issuing.new_key())

    def context(self) -> ssl.SSLContext:
        """Return the server's settings, which believe whoever its authority signed for."""
        subject = issuing.Subject(common_name="server", usages=["server"], days=1, addresses=["127.0.0.1"])
        pair = issuing.issue(subject, authority=self.authority)
        (self.folder / "server.pem").write_text(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=self.authority.certificate)
        return context

    def issue(self) -> int:
        """Write another certificate, and return its serial number."""
        pair = issuing.issue(issuing.Subject(common_name="me", usages=["client"], days=1), authority=self.authority)
        new = self.folder / "client.new"
        new.write_text(pair.certificate + pair.key)
        new.replace(self.file)
        return serial_of({"certificate": pair.certificate})

    def api(self) -> MachineApi:
        url = f"https://127.0.0.1:{self.server.server_address[1]}"
        return MachineApi(url, authority=self.trust, certificate=self.file, agent="test")


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    with place.server as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield place
        server.shutdown()
        thread.join()


def test_a_renewed_certificate_is_used_from_the_next_request_on(place: Place) -> None:
    first, api = place.issue(), place.api()
    api.get("/one")
    api.get("/one")
    second = place.issue()
    api.get("/one")
    assert [int(serial, 16) for serial in place.server.clients] == [first, second]


def test_an_authority_that_is_taken_away_is_believed_no_more(place: Place) -> None:
    place.issue()
    api = place.api()
    api.get("/one")
    place.trust.write_text(place.new_authority().certificate)
    with pytest.raises(ApiError, match="does not answer"):
        api.get("/one")


def test_files_that_are_not_there_yet_are_waited_for(place: Place) -> None:
    api = place.api()
    with pytest.raises(ApiError, match=r"client\.pem") as caught:
        api.get("/one")
    assert caught.value.passing
    place.issue()
    assert api.get("/one") == {"kind": "Test"}
