"""An environment as a picture: one SVG, alone or in an HTML page, from the environment file and nothing else."""
