"""The GPUs of a simulated node, and the software that offers them."""
