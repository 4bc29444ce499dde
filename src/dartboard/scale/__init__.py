"""Scale out: many runs over many machines, and one loop over many devices."""
