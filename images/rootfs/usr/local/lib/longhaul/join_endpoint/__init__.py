"""Join endpoint on each API server's machine. It verifies cloud machines' proofs of identity, and requests certificates
for these machines.

join_requests.py decides the answers. The limits of connections are in https_listener.py, the port is in
contract/ports.py, the rates are in contract/join_rates.py. The joining machine's side is ``node`` (join.py, attest.py,
proofs.py).

Units: longhaul-join.service.
Settings: components/render/node_controller_document.py.
Tests: tests/images/join_endpoint.
"""
