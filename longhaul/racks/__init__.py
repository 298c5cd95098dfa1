"""The racks: which machines Ansible sets up, how it reaches them, and what the stack knows of them."""
