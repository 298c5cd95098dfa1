"""Everything that the project knows about each cloud. This package imports no other package of the project and no
Pulumi. Each cloud has one folder, with the same file names in each. ``base`` holds shared code and the base classes
that each cloud derives from."""
