"""What a machine boots from: its image, and the user data that its start-up program reads."""
