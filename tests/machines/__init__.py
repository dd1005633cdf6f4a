"""The machines on which people set up a checkout: which Python answers, where the cache is, what was interrupted."""
