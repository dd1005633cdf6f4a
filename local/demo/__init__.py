"""A GPU lab day on the embedded cloud: people use the command line and the AWS API, and the demo observes it."""
