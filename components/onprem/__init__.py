"""Sites of your own racks: no cloud resource, only what the other sites and Ansible need to know."""
