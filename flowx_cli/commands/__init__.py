"""One verb per module; each module has a `command`."""
