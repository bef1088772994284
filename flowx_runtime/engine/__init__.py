"""Walks one plan for one instance. Knows a journal by its contract, and nothing of SQL, HTTP or wall clocks."""
