"""Reader of the environment's vault, and the program that writes this machine's secrets into files.

Units: longhaul-secrets.service, longhaul-secrets-refresh.service.
Settings: components/render/secrets.py, components/model/secrets.
Tests: tests/images/vault.
"""
