"""Facts on which several sides must agree: machines' programs, services, clouds, declared resources, the command, its
client and the lab.

It needs the standard library alone, but for ``certificate_requests.py``, because every side gets it: machines have it
beside their programs (/usr/local/lib/longhaul/contract), both wheels and the services hold it. A fact that two sides
need is written here once; one that a single side needs is not.
"""
