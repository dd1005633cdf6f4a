"""The rules of the diagnosis, by the object that they judge."""
