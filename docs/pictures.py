"""The README's picture of a lab day: `make picture` plays the day and keeps a picture of the terminal.

It is a real run, right after the announcement of the pool. The browser tests make the pictures of the pages.
"""

import re
import sys
import time
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.console import Console

from local.demo.acts import ACTS
from local.demo.view import DayEvent, LiveView, Now

PICTURE = Path(__file__).resolve().parent / "images/demo.svg"
ZONE = ZoneInfo("Asia/Seoul")
COLUMNS = 112
RATE = 30
#: After this event the program reads the pool's state once more and takes the picture.
MOMENT = "announced"
#: rich names a font on a server. Our pictures must fetch nothing.
_FETCHED_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class Photographer(LiveView):
    """Shows the day as usual, and keeps its picture at MOMENT."""

    def __init__(self, zone: ZoneInfo, console: Console) -> None:
        super().__init__(zone, console)
        self._due = False
        self.taken = False

    def line(self, line: DayEvent) -> None:
        super().line(line)
        self._due = self._due or (line.kind == MOMENT and not self.taken)

    def now(self, now: Now) -> None:
        super().now(now)
        if self._due:
            self._due, self.taken = False, True
            PICTURE.parent.mkdir(exist_ok=True)
            PICTURE.write_text(drawn(self), "utf-8")


def drawn(view: LiveView) -> str:
    """The present content of the terminal, as SVG."""
    paper = Console(record=True, width=COLUMNS, force_terminal=True, file=Path("/dev/null").open("w"))  # noqa: SIM115
    paper.print(view.picture())
    svg = _FETCHED_FONT.sub("", paper.export_svg(title="make demo", unique_id="lamplighter"))
    return svg.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")


def main() -> None:
    """Play the day, and print the path of its picture."""
    with Photographer(ZONE, Console()) as seen:
        ACTS["day"](seen, RATE, time.monotonic()).play()
    sys.stdout.write(
        f"{PICTURE} is new\n" if seen.taken else "nothing was announced, so there is no picture\n"
    )
    raise SystemExit(0 if seen.taken else 1)


if __name__ == "__main__":
    main()
