"""The pictures of a lab day in the README: `make picture` plays the day, and keeps the terminal and the receipt.

It is a real run. The terminal is as it was right after the announcement of the pool. Chromium, where it is installed,
shows the receipt.
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.console import Console

from local.demo.acts import ACTS
from local.demo.view import DayEvent, LiveView, Now

PICTURE = Path(__file__).resolve().parent / "images/demo.svg"
RECEIPT = PICTURE.parent / "receipt.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
RECEIPT_SIZE = "1072,1495"
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


def shown(page: str) -> bool:
    """Whether a browser made the picture of the receipt."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return False
    options = ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={RECEIPT_SIZE}")
    command = [browser, *options, f"--screenshot={RECEIPT}", Path(page).as_uri()]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603 -- our own words


def main() -> None:
    """Play the day, and print the paths of its pictures."""
    with Photographer(ZONE, Console()) as seen:
        report = ACTS["day"](seen, RATE, time.monotonic()).play()
    sys.stdout.write(
        f"{PICTURE} is new\n" if seen.taken else "nothing was announced, so there is no picture\n"
    )
    receipt = shown(report["pages"]["receipt"])
    sys.stdout.write(
        f"{RECEIPT} is new\n" if receipt else f"no Chromium is here, so {RECEIPT} is as before\n"
    )
    raise SystemExit(0 if seen.taken else 1)


if __name__ == "__main__":
    main()
