"""Stand-ins for Pulumi's provider plugins, for use inside the lab."""
