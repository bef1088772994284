"""One report, four renderings. None of them filters: what one shows, all show."""
