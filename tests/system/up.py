"""`rota up` as whoever watches over it sees it: its answers, its health, its metrics, its log."""

import urllib.error
import urllib.request

from tests.cli.calling import RotaProcess


class Up:
    """`rota up`, asked over HTTP."""

    def __init__(self, process: RotaProcess, *, key: str | None = None) -> None:
        self.process = process
        banner = process.banner()
        self._address, self._key = banner["address"], key or banner["api_key"]

    def ask(self, path: str, body: bytes | None = None) -> tuple[int, str]:
        """Status and text of an answer."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._address}{path}", data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    def enqueues(self) -> bool:
        """Whether a job is accepted."""
        status, _ = self.ask("/api/jobs", b'{"job_type_uuid": "hello"}')
        assert status in (200, 503, 507)
        return status == 200

    def troubles(self) -> int:
        _, text = self.ask("/metrics")
        (line,) = [line for line in text.splitlines() if line.startswith("rota_store_troubles ")]
        return int(line.split()[1])

    def says(self, message: str) -> bool:
        return any(line["message"] == message for line in self.process.log_lines())
