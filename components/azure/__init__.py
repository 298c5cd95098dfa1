"""Azure: Pulumi resources that are made there. Facts about the cloud, and calls to it: clouds/azure."""
