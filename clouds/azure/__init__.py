"""Azure: facts about the cloud, and calls to it. Pulumi resources that are made there: components/azure."""
