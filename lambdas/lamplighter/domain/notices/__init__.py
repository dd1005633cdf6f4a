"""The notices of a lab, by kind, as codes and values."""
