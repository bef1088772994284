"""Offers that wait for a signature: the waiting example."""
