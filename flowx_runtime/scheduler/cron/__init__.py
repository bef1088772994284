"""Starts flows on their schedules, without a leader: every node looks, and the journal settles who was first."""
