"""Node controller, which decides which machines may be nodes, approves kubelets' certificate requests, and removes the
Nodes of machines that no longer exist."""
