"""Charts that the real helm installs on the simulated cluster."""
