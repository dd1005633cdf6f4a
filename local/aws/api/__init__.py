"""The server of the embedded AWS, and the layer between it and moto."""
