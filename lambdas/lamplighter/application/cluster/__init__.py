"""The steps that speak to Kubernetes: GPU settings, readiness, checks, drain."""
