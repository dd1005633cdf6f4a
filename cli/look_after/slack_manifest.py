"""The manifest of the lab's Slack app: its bot, its one command, where Slack posts to, and what it may do.

https://docs.slack.dev/reference/app-manifest. Texts are YAML's double-quoted strings, which are JSON's.
"""

import json

NAME_LENGTH = 35
DESCRIPTION = "Opens and closes GPU lab windows. No lease, no GPU node."
HINT = "status | open 2 for 90m | extend 1h | close | skip | windows | cost | why | help"
#: What each is for; more is not asked.
SCOPES = {
    "chat:write": "the message of a window, its thread, pings",
    "commands": "the slash command",
    "usergroups:read": "roles that name user groups",
    "users:read": "names, and the time zone in which somebody says until 22:30",
}


def manifest(lab: str, command: str, url: str) -> str:
    """The manifest in YAML, of a lab with this slash command, for an app that posts to this address."""
    name, address = json.dumps(lab[:NAME_LENGTH]), json.dumps(url)
    scopes = "\n".join(f"      - {scope} # {why}" for scope, why in SCOPES.items())
    return f"""\
_metadata:
  major_version: 2
  minor_version: 1
display_information:
  name: {name}
  description: {json.dumps(DESCRIPTION)}
features:
  app_home:
    messages_tab_enabled: true # offers of the waiting list come as direct messages
    messages_tab_read_only_enabled: true
  bot_user:
    display_name: {name}
    always_online: true
  slash_commands:
    - command: {json.dumps(f"/{command}")}
      url: {address}
      description: {json.dumps(DESCRIPTION)}
      usage_hint: {json.dumps(HINT)}
      should_escape: false
oauth_config:
  scopes:
    bot:
{scopes}
settings:
  interactivity:
    is_enabled: true
    request_url: {address}
  org_deploy_enabled: false
  socket_mode_enabled: false
  token_rotation_enabled: false
"""
