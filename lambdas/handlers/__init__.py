"""The entry points of the functions: parse, call, return."""
