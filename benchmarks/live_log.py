"""How live a live log is: from the moment in which a job writes a line to its arrival in the stream of a tab, and to
the page itself in a real Chromium, if there is one. A job writes at moments that nobody can foresee; both follow it."""

import asyncio
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import msgspec
from playwright.async_api import Page, async_playwright

from benchmarks.api import KEY, Load, RotaServer

LINES = 200
_TALKING = f"""
import os, random, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
for number in range({LINES}):
    time.sleep(random.uniform(0.02, 0.6))
    print("written", time.time_ns(), flush=True)
"""
_STAMP = re.compile(rb"written (\d+)")
_WATCH = """addEventListener("DOMContentLoaded", () => {
  window.delays = [];
  const log = document.querySelector("#log");
  if (log) new MutationObserver((changes) => {
    const now = performance.timeOrigin + performance.now();
    for (const line of changes.flatMap((change) => [...change.addedNodes])) {
      const found = /written (\\d+)/.exec(line.textContent ?? "");
      if (found) window.delays.push(now - Number(found[1]) / 1e6);
    }
  }).observe(log, { childList: true });
})"""


async def delays_of_lines(url: str, folder: str) -> dict[str, float]:
    """In milliseconds."""
    server = RotaServer(url, folder, "up", "--no-demo")
    load = Load(server.port)
    go = Path(tempfile.mkdtemp(dir=folder), "go")
    try:
        await server.ready(load)
        metadata = {"command": [sys.executable, "-c", _TALKING, str(go)]}
        job_type = {"name": "talk", "executor": "bash", "metadata": metadata}
        await load.ask(load.request("POST", "/api/job_types", job_type))
        made = msgspec.json.decode(await load.ask(load.request("POST", "/api/jobs", {"job_type": "talk"})))
        return await _followed(server.port, f"/jobs/{made['uuid']}", go)
    finally:
        server.close()


async def _followed(port: int, path: str, go: Path) -> dict[str, float]:
    program = os.environ.get("ROTA_TEST_CHROMIUM") or shutil.which("chromium")
    if not program:
        await asyncio.to_thread(go.touch)
        return _told("to the stream", await _delays_in_stream(port, path))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = await browser.new_page()
        await _open(page, f"http://127.0.0.1:{port}{path}")
        await asyncio.to_thread(go.touch)
        streamed = await _delays_in_stream(port, path)
        await asyncio.sleep(2)
        shown = await page.evaluate("window.delays")
        await browser.close()
    assert len(shown) == LINES, len(shown)
    return _told("to the stream", streamed) | _told("to the page in Chromium", shown)


def _told(where: str, delays: list[float]) -> dict[str, float]:
    ordered = sorted(delays)
    return {
        f"a new line {where}, median, ms": median(ordered),
        f"a new line {where}, 99 % within, ms": ordered[int(len(ordered) * 0.99) - 1],
        f"a new line {where}, the slowest of {len(ordered)}, ms": ordered[-1],
    }


async def _delays_in_stream(port: int, path: str) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    writer.write(f"GET /live?at={path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode())
    delays: list[float] = []
    try:
        while len(delays) < LINES:
            line = await reader.readline()
            assert line, "the stream ended"
            now = time.time_ns()
            if line.startswith(b'data: {"html"'):
                delays += [(now - int(stamp)) / 1e6 for stamp in _STAMP.findall(line)]
    finally:
        writer.close()
    return delays


async def _open(page: Page, address: str) -> None:
    """The page of the job, signed in, with its stream open."""
    await page.add_init_script(_WATCH)
    await page.goto(address)
    await page.get_by_label("Key").fill(KEY)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_selector("body[data-stream=open]")
