"""A lab file into the model, every problem with its line. Functions read no lab file: they have lab.json."""
