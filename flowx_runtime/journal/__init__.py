"""The journal: where instances, rows, leases, waits and staged events are kept.

`contract` says what a store must do; `memory` and `postgres` do it, and one conformance suite
holds both to it.
"""
