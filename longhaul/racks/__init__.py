"""The racks: the machines that Ansible sets up, how it reaches them, and the stack's outputs for them."""
