"""The accountant: compares what runs in each team's namespace with what the team's queue has admitted."""
