"""The port to a pool's nodes: what every kind of capacity does, and the pure parts of each."""
