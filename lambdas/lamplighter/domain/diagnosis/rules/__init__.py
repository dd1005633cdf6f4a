"""The rules of the diagnosis, by what they look at."""
