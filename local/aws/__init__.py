"""The embedded AWS: moto, and the behaviour of AWS that moto lacks."""
