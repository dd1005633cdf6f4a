"""The manifest of the lab's Slack app: its bot, its command, the address that Slack posts to, and its scopes.

https://docs.slack.dev/reference/app-manifest. Texts are double-quoted strings of YAML, which are strings of JSON too.
"""

import json

NAME_LENGTH = 35
DESCRIPTION = "Opens and closes GPU lab windows. No lease, no GPU node."
HINT = "status | open 2 for 90m | extend 1h | close | skip | windows | cost | why | help"
#: Each scope with its use.
SCOPES = {
    "chat:write": "the message of a window, its thread, pings",
    "commands": "the slash command",
    "usergroups:read": "roles that name user groups",
    "users:read": "names, and the time zone of words such as until 22:30",
}


def manifest(lab: str, command: str, url: str) -> str:
    """The manifest in YAML: Slack posts the slash command to this address."""
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
    messages_tab_enabled: true # offers of the waiting list are direct messages
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
