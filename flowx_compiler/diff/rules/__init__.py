"""One change, one file: its rule, its mirror, and what finds them. The registry reads this folder."""
