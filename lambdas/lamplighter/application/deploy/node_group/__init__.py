"""The deploy steps of node groups: custom resources about their sizes, versions, roles and edits."""
