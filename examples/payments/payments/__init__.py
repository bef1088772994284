"""Paying an order: steps inside a capability that run at most once."""
