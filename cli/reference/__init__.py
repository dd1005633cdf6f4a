"""The example lab file, the JSON Schema and the reference page, from the model."""
