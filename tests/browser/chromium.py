"""A real Chromium, headless: shows a page at a width in light or dark, asks axe-core, takes pictures and prints.

Debian's own packages are used (chromium, chromium-driver), so that nothing is downloaded by the driver.
"""

import base64
import shutil
from pathlib import Path
from typing import Any

import axe_core_python
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

AXE = Path(axe_core_python.__file__).parent / "axe.min.js"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HEIGHT = 900


def browser() -> str | None:
    """Where a Chromium is, if there is one with its driver."""
    return (
        next((found for name in BROWSERS if (found := shutil.which(name))), None)
        if shutil.which("chromedriver")
        else None
    )


class Chromium:
    """One browser window."""

    def __init__(self) -> None:
        options = ChromeOptions()
        options.binary_location = browser() or BROWSERS[0]
        # A test may run as root in a container with little shared memory.
        for option in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--disable-gpu",
        ):
            options.add_argument(option)
        # What the page asks of the net or logs as an error is read back after each page.
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self._driver = Chrome(options=options, service=ChromeService(shutil.which("chromedriver")))

    def close(self) -> None:
        self._driver.quit()

    def show(self, page: Path, width: int, scheme: str = "light", media: str = "screen") -> None:
        """Open a page as a device of that width sees it."""
        phone = width < 600
        self._cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=HEIGHT,
            deviceScaleFactor=1,
            mobile=phone,
        )
        self._cdp(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self._driver.get(page.as_uri())

    def axe(self) -> list[dict[str, Any]]:
        """What axe-core finds wrong, with the elements it found it on."""
        self._driver.execute_script(AXE.read_text("utf-8"))
        found = self._driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, {resultTypes: ['violations', 'incomplete']}).then(done, e => done({error: String(e)}));"
        )
        assert "error" not in found, found
        violations: list[dict[str, Any]] = found["violations"]
        return violations

    def ask(self, script: str) -> Any:
        return self._driver.execute_script(f"return ({script})")

    def said(self) -> list[str]:
        """What the browser logged."""
        return [str(each["message"]) for each in self._driver.get_log("browser")]

    def picture(self, to: Path) -> None:
        """The whole page as PNG."""
        shot = self._cdp("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(shot["data"]))

    def printed(self) -> bytes:
        """The page on A4, as PDF."""
        done = self._cdp("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=False)
        return base64.b64decode(done["data"])

    def _cdp(self, command: str, **parameters: object) -> dict[str, Any]:
        answered: dict[str, Any] = self._driver.execute_cdp_cmd(command, parameters)
        return answered
