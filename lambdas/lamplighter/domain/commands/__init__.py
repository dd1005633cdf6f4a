"""Commands of a person, a schedule or an event: their words, their values and their caller."""
