"""The journal on PostgreSQL, and a server of one's own for tests and demos."""
