"""Judges what a change would do: turns the engine's preview into a plan that a reviewer can read (docs/plan.md).

All judgement is pure: the inputs are a document of the engine and the environment, the output is a
:class:`longhaul.judgement.plan.Plan`.
"""
