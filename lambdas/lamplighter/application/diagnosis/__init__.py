"""Step Diagnose: why a pool is not well."""
