"""The program that synthesises labs, and its starter."""
