"""The resource types that the templates use."""
