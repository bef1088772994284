"""One rule, one file: its page, its data, its examples and its check. The registry finds them by file name."""
