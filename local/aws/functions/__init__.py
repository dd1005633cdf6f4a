"""Lambda: workers as processes of their own."""
