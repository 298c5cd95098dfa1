"""NVIDIA's GPUs: checks that they are present and healthy, and the node's report of them (docs/gpus.md).

Units: longhaul-gpu-preflight.service, longhaul-gpu-cdi.service.
Settings: components/model/nodes/gpu_promises.py.
Install: playbooks/roles/nvidia_driver, playbooks/roles/nvidia_container_toolkit.
Tests: tests/images/gpu.
"""
