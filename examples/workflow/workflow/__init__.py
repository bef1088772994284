"""A new colleague is onboarded: the saga example."""
