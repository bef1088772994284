"""Findings to text, one file per format. Exit codes come from the findings, never from a format."""
