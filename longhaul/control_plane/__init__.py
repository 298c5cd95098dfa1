"""Questions to control-plane machines, and steps that they take, by their cloud's run command."""
