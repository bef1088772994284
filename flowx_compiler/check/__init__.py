"""Analyses that several rules ask: what is in the bag where, what code reads, what reaches what."""
