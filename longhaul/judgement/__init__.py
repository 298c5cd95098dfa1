"""Judges what a change would do: turns the engine's preview into a plan that a reviewer can read (docs/plan.md).

The judgement itself is pure: it turns documents of the engine and the environment into a
:class:`longhaul.judgement.plan.Plan`. Only ``gate`` runs the engine, and only ``api_usage`` asks API servers.
"""
