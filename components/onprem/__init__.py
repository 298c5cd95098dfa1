"""On-premises sites: no cloud resource, only what the other sites and Ansible need to know."""
