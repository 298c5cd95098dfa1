"""`longhaul init`: turns a few answers into a small valid environment.

Answers come from flags or from a person (:mod:`longhaul.init.interview`), are rendered as text
(:mod:`longhaul.init.document`), and are written once they are valid (:mod:`longhaul.project.writing`).
"""
