"""containerd: its configuration, the images that came with the machine, and the verifier of what it pulls.

Units: containerd.service, longhaul-images.service.
Settings: images/rootfs/etc/containerd/conf.d, components/render/containerd.py.
Install: tools.toml, images/image.toml.
Tests: tests/images/containerd, tests/redteam/test_depot_images.py.
"""
