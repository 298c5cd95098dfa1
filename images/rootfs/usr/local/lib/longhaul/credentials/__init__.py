"""Certificates and keys that this machine has and shows: digests, dates, and which programs still use former ones.

Settings: components/model/secrets/certificates.py.
Tests: tests/images/credentials.
"""
