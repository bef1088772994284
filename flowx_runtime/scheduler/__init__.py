"""Loops that find instances which may go on, and hand them to whoever can run them."""
