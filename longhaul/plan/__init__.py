"""What a change would do, judged: the engine's preview as a plan that a reviewer can read (docs/plan.md).

All judgement is pure: a document of the engine and the environment in, a :class:`longhaul.plan.plan.Plan` out.
"""
