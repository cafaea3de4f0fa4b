"""`staffa report` in a real browser: no error, no request but the page itself, and working controls.

Skipped without Chromium. The test controls the browser through a pipe, by its
DevTools protocol; nothing listens on a port.
"""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PROGRAM = [sys.executable, "-m", "staffa"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="speaks to the browser through inherited pipes"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]


class Browser:
    """Headless Chromium with one page."""

    def __init__(self, profile: Path) -> None:
        ends = [*os.pipe(), *os.pipe()]
        # Away from 3 and 4, where the browser looks for its own.
        to_child, self._write, self._read, from_child = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            [CHROMIUM, *flags, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=lambda: (os.dup2(to_child, 3), os.dup2(from_child, 4)),
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Only now: until here they kept 3 and 4 from being anything else.
        for end in ends:
            os.close(end)
        os.close(to_child)
        os.close(from_child)
        self._buffer = b""
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser left"
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, page: Path, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self("Page.navigate", url=page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def js(self, expression: str) -> Any:
        """The value of an expression, a promise awaited."""
        result = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot")["data"]))

    def complaints(self) -> list[dict[str, Any]]:
        """Errors and warnings, and requests for anything but the page."""
        spoken = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        requests = [e["params"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        foreign = [r for r in requests if not r["request"]["url"].startswith("data:") and r["type"] != "Document"]
        return [e["params"] for e in self.events if e["method"] in spoken] + foreign + requests[1:]

    def close(self) -> None:
        # The browser that was started above.
        os.close(self._write)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def reported(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder / "t.parquet")
    for line in ("convert -q --no-derived-columns t.parquet t.staffa", "report -q t.staffa -o t.html"):
        subprocess.run([*PROGRAM, *line.split()], cwd=folder, check=True)
    return folder / "t.html"


# Elements that reach beyond what they are in, and text that is cut off without an ellipsis.
OVERFLOWING = """
(() => {
  const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  const cut = [...document.querySelectorAll(".map i, .map u, .tiles dd, .row > span, .facts dd, .tn, .legend li")]
    .filter((e) => e.offsetParent && e.clientWidth && !e.closest(".ml") && e.scrollWidth > e.clientWidth + 1);
  const labels = [...document.querySelectorAll(".mp i, .mp u")].filter((e) => {
    const [a, b] = [e.getBoundingClientRect(), e.parentElement.getBoundingClientRect()];
    return a.width && (a.right > b.right + .5 || a.bottom > b.bottom + .5);
  });
  return [wide, ...cut, ...labels].map((e) => e.outerHTML ?? e).filter(Boolean);
})()
"""

# The words whose contrast with their background is too low, by WCAG.
FAINT = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const faint = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [rgba(getComputedStyle(e).color), behind(e)].map(light);
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) faint.push(`${e.textContent.trim().slice(0, 30)}: ${contrast.toFixed(2)}`);
  }
  return faint;
})()
"""


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_quiet_and_fits(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    rows = 150_000
    table = pa.table(
        {
            "id": range(rows),
            "<script>fetch('http://x.invalid')</script>": [
                None if i % 3 else "</script><img src=x>" for i in range(rows)
            ],
            "a name that is longer than most and has a_word_without_a_place_to_break_it_anywhere": [1.5] * rows,
            "price": [i * 7919 % 10_000 / 100 for i in range(rows)],
            "city": [f"city {i * i % 997}" for i in range(rows)],
            "tags": [[f"t{i % 7}"] * (i % 3) for i in range(rows)],
            "at": pa.array(range(rows), pa.timestamp("us")),
        }
    )
    browser.open(reported(tmp_path, table), width, scheme=scheme)
    # Everything that folds is opened, as a thorough reader would.
    browser.js("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert browser.js(OVERFLOWING) == []
    assert browser.js(FAINT) == []
    headings = browser.js("[...document.querySelectorAll('h1, h2, h3')].map((h) => Number(h.tagName[1]))")
    assert headings[0] == 1 and all(b <= a + 1 for a, b in itertools.pairwise(headings))
    assert browser.js("[...document.querySelectorAll('table')].every((table) => table.caption)")
    assert browser.complaints() == []


def test_a_page_is_printed(browser: Browser, tmp_path: Path) -> None:
    table = pa.table({f"a rather long name {i}": [f"a value of {i * j}" for j in range(500)] for i in range(30)})
    browser.open(reported(tmp_path, table), 794, scheme="dark")
    pdf = base64.b64decode(browser("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
    # With pages that are white it is a few kB, without fonts.
    assert len(pdf) > 50_000 and b"/FontFile" in pdf


def test_the_keyboard_reaches_everything(browser: Browser, tmp_path: Path) -> None:
    browser.open(reported(tmp_path, pa.table({"a": range(100_000), "b": [i * 7 % 13 for i in range(100_000)]})))

    def press(key: str, text: str = "") -> None:
        browser("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, text=text, windowsVirtualKeyCode=KEYS[key])
        browser("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=KEYS[key])

    press("Tab")
    assert browser.js("document.activeElement.textContent") == "Skip to the content"
    assert browser.js("document.activeElement.getBoundingClientRect().left") >= 0
    press("Enter", "\r")
    assert browser.js("document.activeElement.id") == "main"
    browser.js("document.querySelector('.col > summary').focus()")
    press("Enter", "\r")
    assert browser.js("document.querySelector('.col').open")
    browser.js("document.querySelector('#theme').focus()")
    press("Enter", "\r")
    assert browser.js("[document.documentElement.dataset.theme, document.querySelector('#theme').textContent]") == [
        "dark",
        "Light",
    ]
    assert browser.complaints() == []


KEYS = {"Tab": 9, "Enter": 13}


def test_two_thousand_columns_stay_usable(browser: Browser, tmp_path: Path) -> None:
    def enter(where: str, value: str, event: str) -> None:
        browser.js(
            f"(() => {{ const e = document.querySelector({where!r}); e.value = {value!r};"
            f" e.dispatchEvent(new Event({event!r})); }})()"
        )

    column = {i % 50: [i * j % (3 + i) for j in range(200)] for i in range(50)}
    page = reported(tmp_path, pa.table({f"sensor_{i:04d}": column[i % 50] for i in range(2000)}))
    assert page.stat().st_size < 5_000_000
    browser.open(page)
    # The details are built when a column is opened, by hand or by its address.
    assert browser.js("document.querySelectorAll('.tree').length") == 0
    browser.js("document.querySelector('.col').open = true")
    browser.js("new Promise((done) => setTimeout(done, 50))")
    assert browser.js("document.querySelector('.col[open] .tree b').textContent.length") > 3
    browser.js("location.hash = 'c1999'; new Promise((done) => setTimeout(done, 50))")
    assert browser.js("document.activeElement.textContent").startswith("sensor_1999")
    enter("#find", "sensor_012", "input")
    assert browser.js("document.querySelector('#found').textContent") == "10 of 2,000 columns"
    assert browser.js("[...document.querySelectorAll('.col')].filter((c) => c.checkVisibility()).length") == 10
    enter("#find", "", "input")
    # Fifty at once; a heading sorts, and sorts the other way when it is pressed again.
    visible = "[...document.querySelectorAll('.col')].filter((c) => c.checkVisibility()).map((c) => c.id)"
    assert len(browser.js(visible)) == 50
    press = "document.querySelector('[data-sort=name]').click()"
    browser.js(f"{press}, {press}")
    assert browser.js(visible)[0] == "c1999"
    browser.js("document.querySelector('[data-of=columns] button:last-child').click()")
    assert browser.js(visible)[0] == "c1949"
    assert browser.js("document.querySelector('[data-of=columns] span').textContent") == "51 to 100 of 2,000"
    shown = "[...document.querySelectorAll('#rows tbody tr')].filter((row) => row.checkVisibility()).length"
    assert browser.js(shown) == 20
    assert browser.complaints() == []
