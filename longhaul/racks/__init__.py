"""The racks: the machines that Ansible sets up, how it reaches them, and what the stack knows of them."""
