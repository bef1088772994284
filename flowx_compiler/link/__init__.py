"""All modules' syntax to one `Program`: names resolved, constants folded, flows understood as trees."""

from flowx_compiler.link.program import link

__all__ = ["link"]
