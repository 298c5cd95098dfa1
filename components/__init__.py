"""Longhaul's declarations: the environment's model, what is rendered from it, and the Pulumi components made of
both."""

# Pulumi's states refer to our resource classes by their former modules: `components.secrets` and four others, which are
# now in the folder below.
__path__.append(f"{__path__[0]}/control_plane")
