"""The language a flow is written in: declarations, contracts, and the builder the compiler reads.

Import these names from `flowx_runtime`, never from here.
"""
