"""Runs the project's playbooks on a folder with a system, as Packer and SSH run them on machines."""
