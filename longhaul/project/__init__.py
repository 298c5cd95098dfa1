"""The project that a command works on: its checkout, its environments and files, and the lab that stands for an
environment."""
