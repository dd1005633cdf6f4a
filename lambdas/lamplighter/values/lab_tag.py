"""The tag that the stacks of a lab put on all that they create, with the lab's name: functions know it by that."""

LAB_TAG = "lamplighter:lab"
