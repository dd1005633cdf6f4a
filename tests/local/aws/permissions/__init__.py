"""What IAM decides and refuses, and the policies of other services."""
