"""Azure: facts about the cloud, and requests to it. Pulumi resources are declared in components/azure."""
