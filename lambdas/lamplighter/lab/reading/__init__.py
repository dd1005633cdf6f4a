"""A lab file into the model, every problem with its line. The command line alone reads files."""
