"""Longhaul's declarations: the environment's model, the documents rendered from it, and the Pulumi components made from
both."""

# Pulumi's states name some resource classes by their former module paths, `components.secrets` and four others; the
# modules are now in the folder below.
__path__.append(f"{__path__[0]}/control_plane")
