"""The lab's HTTP addresses and its pages."""
