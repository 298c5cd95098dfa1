"""Join endpoint, on each API server's machine: it checks proofs of identity and asks for certificates of cloud
machines.

join_requests.py decides what to answer; https_listener.py has the limits of connections, contract/ports.py the
port, contract/join_rates.py the rates. The machine's side is ``node`` (join.py, attest.py, proofs.py).

Units: longhaul-join.service.
Settings: components/render/node_controller_document.py.
Tests: tests/images/join_endpoint.
"""
