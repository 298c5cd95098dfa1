"""The kubelet: its record of assigned CPUs, the authorities that it trusts, and the registration of a deleted Node.

``node`` (join.py) gets the kubelet's first certificate before the kubelet starts. The kubelet itself renews the
certificate.

Units: kubelet.service, longhaul-authorities.service, longhaul-authorities.timer, longhaul-registered.service,
longhaul-registered.timer.
Settings: components/render/kubelet.py (reservations: components/model/nodes/kubelet_reservations.py),
images/rootfs/etc/longhaul/kubelet.conf.d.
Certificates: components/render/admission.py, images/rootfs/usr/local/lib/longhaul/node/join.py.
Install: tools.toml, images/image.toml, playbooks/roles/node.
Tests: tests/images/kubelet, tests/render/test_nodes.py.
"""
