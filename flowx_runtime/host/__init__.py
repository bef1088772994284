"""What a service holds: its plans, its capabilities, its journal; start, signal, inspect, drain."""
