"""Tests of the stacks. `stacks` names our own Node before anything asks the CDK for one."""

import stacks as _names_our_node  # noqa: F401
