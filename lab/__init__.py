"""The lab: the clouds and the racks on one machine."""
