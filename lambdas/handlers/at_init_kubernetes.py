"""What every event of a function needs that always speaks to Kubernetes, loaded with its handler as well."""

from kubernetes.client import ApiClient, Configuration
from kubernetes.dynamic import DynamicClient

from handlers.at_init import Lab, boto3, make

__all__ = ["ApiClient", "Configuration", "DynamicClient", "Lab", "boto3", "make"]
