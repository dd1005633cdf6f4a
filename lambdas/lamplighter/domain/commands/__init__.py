"""What a person, a schedule or an event asks for: words, values, and who asks."""
