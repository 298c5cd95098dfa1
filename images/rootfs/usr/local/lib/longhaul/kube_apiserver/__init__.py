"""kube-apiserver: its etcd members, its start, watchdog, keys and issuers, and how it leaves the load balancer.

Units: kube-apiserver.service, kube-apiserver-events.service, kube-apiserver-watchdog.service.
Settings: components/render/api_server_machine.py, components/render/admission.py.
Certificates: components/model/secrets/certificates.py.
Install: tools.toml, images/image.toml.
Tests: tests/images/kube_apiserver.
"""
