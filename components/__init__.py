"""What Longhaul declares: the environment's model, what is rendered from it, and the Pulumi components made of both."""

# States name our resources' classes by the modules that they were in: `components.secrets` and four others, below now.
__path__.append(f"{__path__[0]}/control_plane")
