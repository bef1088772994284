"""One policy a file. `guards` nests those that lie around a call; rate limit, retry and fallback belong to the step."""
