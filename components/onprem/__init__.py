"""On-premises sites: no cloud resources, only the data that the other sites and Ansible need."""
