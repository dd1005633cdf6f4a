"""How a terminal writes a verdict: what failed stands out."""

VERDICTS = {"passed": "passed", "failed": "FAILED", "not-proven": "not proven"}
