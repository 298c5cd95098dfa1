"""Node controller: decides which machines may be nodes, approves the certificates that kubelets ask for, and removes
the Node of a machine that is gone."""
