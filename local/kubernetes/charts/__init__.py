"""The Helm charts that the embedded cloud serves: replacements of our own, and a chart that NVIDIA publishes."""
