"""A flow as a picture, from its compiled plan; no network, browser or other program is needed."""
