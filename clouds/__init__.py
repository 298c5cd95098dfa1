"""Facts about each cloud, and requests to it. Pulumi resources are declared in components/aws and components/azure.
This package imports no Pulumi and, of the project's packages, only ``contract``. Each cloud has one folder, with the
same file names in each. ``base`` holds shared code and the base classes from which each cloud derives."""
