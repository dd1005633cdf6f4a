"""The server of the embedded AWS, and what stands between it and moto."""
