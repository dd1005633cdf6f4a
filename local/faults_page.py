"""The faults over HTTP: lists them, and switches them on and off.

GET returns {"faults": [...]}, each with its name, what it does and for which pools it is on. POST takes {"on": NAME} or
{"off": NAME}, with "pool" for one pool, {"off": null} for all, and returns the same.
"""

import json
from typing import Any

from lamplighter.errors import BadInput
from local.aws.api.server import Request, Response
from local.faults.switching import FaultSwitching

_KEYS = {"on", "off", "pool"}


class FaultsPage:
    """Answers at PATH of the endpoint."""

    PATH = "/_lamplighter/faults"

    def __init__(self, fault_switching: FaultSwitching) -> None:
        self._switchboard = fault_switching

    def answer(self, request: Request) -> Response:
        if request.method == "POST":
            try:
                self._switch(json.loads(request.body))
            except ValueError as error:
                return _json(400, {"message": f"it is no JSON: {error}"})
            except BadInput as error:
                return _json(400, {"message": str(error)})
        elif request.method != "GET":
            return _json(405, {"message": "GET or POST"})
        return _json(200, {"faults": self._switchboard.listed()})

    def _switch(self, wish: object) -> None:
        if not isinstance(wish, dict) or not wish or not _all_names(wish):
            raise BadInput('say {"on": NAME} or {"off": NAME}, each with "pool" if it is for one alone')
        unknown = sorted(set(wish) - _KEYS)
        if unknown:
            raise BadInput(f"{unknown[0]} is not one of on, off, pool")
        if ("on" in wish) == ("off" in wish):
            raise BadInput("say one of on and off")
        if wish.get("on"):
            self._switchboard.on(wish["on"], wish.get("pool"))
        elif "on" in wish:
            raise BadInput("on: name the fault")
        else:
            self._switchboard.off(wish["off"], wish.get("pool"))


def _all_names(wish: dict[Any, Any]) -> bool:
    return all(value is None or isinstance(value, str) for value in wish.values())


def _json(status: int, document: dict[str, Any]) -> Response:
    return Response(status, json.dumps(document).encode(), {"Content-Type": "application/json"})
