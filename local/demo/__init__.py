"""A GPU lab day on the embedded cloud: played through the doors that people use, watched from outside."""
