"""Makes the lab's networks and machines agree with the clouds' desired state (:mod:`lab.desired`)."""

from lab.hypervisor.addresses import Plan
from lab.hypervisor.reconcile import LabHypervisor, NetworkObserver
from lab.hypervisor.settings import Settings

__all__ = ["LabHypervisor", "NetworkObserver", "Plan", "Settings"]
