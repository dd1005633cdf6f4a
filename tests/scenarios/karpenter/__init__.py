"""Labs with the real Karpenter. Its clock is real, so these scenarios are short and run in real time."""
