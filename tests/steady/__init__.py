"""What keeps a test from depending on the machine: on its speed, above all."""
