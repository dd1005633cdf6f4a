"""The model of lab.yaml: one part of it a file, with defaults and units."""
