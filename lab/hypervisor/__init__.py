"""Makes the lab's networks and machines agree with the clouds' desired state (:mod:`lab.desired`)."""

from lab.hypervisor.addresses import AddressRanges
from lab.hypervisor.reconcile import LabHypervisor, NetworkObserver
from lab.hypervisor.settings import HypervisorSettings

__all__ = ["AddressRanges", "HypervisorSettings", "LabHypervisor", "NetworkObserver"]
