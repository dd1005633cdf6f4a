"""The embedded AWS: moto, and what moto lacks of AWS's habits."""
