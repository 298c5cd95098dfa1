"""Which machines may be nodes: signs what kubelets ask for, and removes the Node of a machine that is gone."""
