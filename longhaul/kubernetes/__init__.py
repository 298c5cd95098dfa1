"""Asking a cluster's API and telling it, for the operator's command and for the lab's plugin; it knows neither."""
