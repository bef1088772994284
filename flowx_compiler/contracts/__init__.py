"""The JSON Schema of every published contract, derived from source: nothing is imported and nothing is run.

`published.Published` is the way in. `docs/contracts.md` says what is derived and what is left opaque; what would be a
guess is opaque.
"""
