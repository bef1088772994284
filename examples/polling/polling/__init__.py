"""Documents read by a slow provider: the polling example."""
