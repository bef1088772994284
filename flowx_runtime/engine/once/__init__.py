"""Steps inside a capability that run at most once: their names, what is kept of them, when they are tried again."""
