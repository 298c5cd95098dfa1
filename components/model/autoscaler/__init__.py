"""The autoscaler: section ``autoscaler``, what it is told, and its rights."""
