"""One file's text to `syntax.Module`. The only place that knows LibCST; no LibCST object leaves it."""
