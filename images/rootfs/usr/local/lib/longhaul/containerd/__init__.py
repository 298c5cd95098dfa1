"""containerd: its configuration, the container images in the machine's image, and the verifier of pulled images.

Units: containerd.service, longhaul-images.service.
Settings: images/rootfs/etc/containerd/conf.d, components/render/containerd.py.
Install: tools.toml, images/image.toml.
Tests: tests/images/containerd, tests/redteam/test_depot_images.py.
"""
