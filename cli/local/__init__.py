"""`lamplighter local`: the embedded cloud on this machine."""
