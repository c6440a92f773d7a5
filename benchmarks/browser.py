"""A headless Chromium that is told what to do through two pipes; the standard library is enough.

The protocol is Chromium's own (https://chromedevtools.github.io/devtools-protocol/): JSON texts
that end with a zero byte. The window it stands for may be narrower than Chromium's own windows.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: As Debian and Ubuntu call it.
COMMAND = "chromium"

OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--remote-debugging-pipe"),
)


class Tab:
    """A page that is open, and what it did.

    Attributes:
        errors: what was written to the console as an error, and what its policy forbade.
        requests: addresses that were asked for.
    """

    def __init__(self, to: int, back: int) -> None:
        """Talk through the file descriptors `to` and `back`."""
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._to, self._back, self._rest = to, back, b""
        self._number, self._session = 0, None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        found = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What Chromium answers.

        Raises:
            RuntimeError: it refuses, or has ended.
        """
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        for answer in self._answers():
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._note(answer)
        raise RuntimeError(f"{method}: the browser has ended")

    def _answers(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._rest:
                more = os.read(self._back, 1 << 20)
                if not more:
                    return
                self._rest += more
            text, _, self._rest = self._rest.partition(b"\0")
            yield json.loads(text)

    def _note(self, event: dict[str, Any]) -> None:
        method, of = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(of["request"]["url"])
        elif method == "Log.entryAdded" and of["entry"]["level"] == "error":
            self.errors.append(of["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(of["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and of["type"] in ("error", "assert"):
            self.errors.append(json.dumps(of["args"])[:500])

    def resize(self, width: int, height: int = 900) -> None:
        """Be a window of so many pixels."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def darken(self, dark: bool) -> None:
        """Say that the user likes dark pages, or light ones."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str, ready: str, seconds: float = 60.0) -> None:
        """Open a page and wait until the expression `ready` is true there.

        Raises:
            TimeoutError: it was not within `seconds`.
        """
        self.ask("Page.navigate", url=url)
        end = time.monotonic() + seconds
        while not self.value(ready):
            if time.monotonic() > end:
                raise TimeoutError(f"{url}: not {ready} within {seconds:g} s")
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """Of a JavaScript expression in the page, as JSON has it."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def click(self, x: float, y: float) -> None:
        """With the left button, at so many pixels from the window's upper left corner."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            self.ask(
                "Input.dispatchMouseEvent",
                **{"type": kind, "x": x, "y": y, "button": button, "clickCount": 1},
            )

    def picture(self, place: Path, tallest: int) -> None:
        """The page from its top as PNG, at most `tallest` pixels of it."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "scale": 1}
        clip["height"] = min(size["height"], tallest)
        made = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        place.write_bytes(base64.b64decode(made["data"]))


@contextmanager
def tab() -> Iterator[Tab]:
    """An empty page in a browser of its own, which ends with it."""
    (read, to), (back, write) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:

        def numbered() -> None:  # the protocol's descriptors are 3 and 4
            first, second = os.dup(read), os.dup(write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        browser = subprocess.Popen(
            [COMMAND, *OPTIONS, f"--user-data-dir={profile}"],
            preexec_fn=numbered,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        try:
            yield Tab(to, back)
        finally:
            browser.terminate()
            browser.wait(60)
            os.close(to)
            os.close(back)
