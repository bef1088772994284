"""The `flowx` command: words in, exit codes out. Each verb is one module of `commands`, imported when called."""
