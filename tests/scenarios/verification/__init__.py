"""`lamplighter verify` against the embedded cloud: it passes, it fails at each fault, and it leaves nothing behind."""
