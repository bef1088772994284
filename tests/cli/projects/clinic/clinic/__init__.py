"""A small application for tests of verbs that operate instances."""
