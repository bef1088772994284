"""What a host tells of its work while it does it. Needs no library; `opentelemetry` brings one along."""
