"""Running the project's playbooks on a folder that holds a system, as Packer and SSH run them on machines."""
