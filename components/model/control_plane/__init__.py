"""Machines of the control plane: section ``control_plane``."""
