"""What Longhaul declares: the environment's model, what is rendered from it, and the Pulumi components made of both."""
