"""The autoscaler: section ``autoscaler``, the document that it reads, and its rights."""
