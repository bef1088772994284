"""Publishes the events that steps staged: at least once, in order within an instance, over a publisher of your choice.

The journal keeps what is staged and how far it got (`flowx_runtime.journal.outbox`); a drain takes it from there.
"""
