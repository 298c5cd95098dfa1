"""Questions to control-plane machines, and operations on them, through their cloud's run command."""
