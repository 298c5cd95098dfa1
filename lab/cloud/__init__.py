"""The clouds of the lab: their APIs, as far as Longhaul calls them."""
