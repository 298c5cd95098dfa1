"""Certificates and keys on this machine: digests, dates, served certificates, and programs that still use former files.

Settings: components/model/secrets/certificates.py.
Tests: tests/images/credentials.
"""
