"""The steps of an experiment: prepare, change, observe, restore, prove, report."""
