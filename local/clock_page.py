"""The virtual clock over HTTP: read it, change its rate, jump, hurry, let time pass.

GET returns {"now", "rate"}. POST takes any of {"rate": number}, {"to": RFC 3339 instant}, {"hurry": true or false} and
returns the same as GET. POST of a number of seconds to SLEEP answers when they have passed.
"""

import json
from datetime import UTC, datetime
from typing import Any

from local.aws.api.server import Request, Response
from local.clock import VirtualClock


class ClockPage:
    """Answers at PATH of the endpoint."""

    PATH = "/_lamplighter/clock"
    SLEEP = f"{PATH}/sleep"

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def answer(self, request: Request) -> Response:
        if request.method == "POST":
            try:
                if request.path == "/sleep":
                    self._clock.sleep(float(request.body))
                else:
                    self._change(json.loads(request.body))
            except (ValueError, TypeError, AttributeError) as error:
                return _json(400, {"message": str(error)})
        elif request.method != "GET":
            return _json(405, {"message": "GET or POST"})
        now = self._clock.now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return _json(200, {"now": now, "rate": self._clock.rate})

    def _change(self, wish: dict[str, Any]) -> None:
        unknown = sorted(set(wish) - {"rate", "to", "hurry"})
        if unknown:
            raise ValueError(f"{unknown[0]} is not one of rate, to, hurry")
        if "rate" in wish:
            self._clock.set_rate(float(wish["rate"]))
        if "to" in wish:
            instant = datetime.fromisoformat(wish["to"])
            if instant.tzinfo is None:
                raise ValueError(f"{wish['to']} has no offset")
            self._clock.jump_to(instant.timestamp())
        if "hurry" in wish:
            self._clock.hurry(bool(wish["hurry"]))


def _json(status: int, document: dict[str, Any]) -> Response:
    return Response(status, json.dumps(document).encode(), {"Content-Type": "application/json"})
