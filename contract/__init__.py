"""Facts on which several sides must agree: machines' programs, services, clouds, declared resources, the command, its
client and the lab.

The package needs only the standard library (except for ``certificate_requests.py``), because every side has a copy:
machines beside their programs (/usr/local/lib/longhaul/contract), both wheels, and the services. A fact that two sides
need is written here, once. A fact that only one side needs is written on that side.
"""
