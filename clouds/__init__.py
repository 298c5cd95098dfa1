"""Everything that one must know about a cloud, below all else and free of Pulumi: one folder for each, the same file
names in each. ``base`` holds what they share and what each has to answer."""
