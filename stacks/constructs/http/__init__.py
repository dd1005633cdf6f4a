"""The lab's HTTP addresses, its pages and its channels."""
