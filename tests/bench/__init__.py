"""The figures of docs/reference/performance.md: `make bench` prints them, one a line, `name value unit`."""
