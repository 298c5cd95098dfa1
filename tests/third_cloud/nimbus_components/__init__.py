"""Resources that are made in Nimbus."""
