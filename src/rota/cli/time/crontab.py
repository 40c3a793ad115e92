"""Reads crontabs: what a user's `crontab -l` prints, and the files of /etc/cron.d, which name a user in each line.

Rota does what cron does: a job runs in the user's home, starts also while the last one runs, and nothing is made up
for. What it cannot do is told: run as another user, send mail, or start something at boot.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.schedules.request import ScheduleRequest, read_trigger

_VARIABLE = re.compile(r"""\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*?)\s*""")
_FIELDS = re.compile(r"(@every\s+\S+|@\S+|(?:\S+\s+){4}\S+)(?:\s+(.*))?", re.DOTALL)
_WORD = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_NAME = 100
_ZONES = ("CRON_TZ", "TZ")
DIFFERENCES = (
    "commands run in bash, with the worker's own variables and PATH, where cron has /bin/sh and /usr/bin:/bin",
    "what they print is kept as their log (`rota logs`), and nothing is mailed",
    "they run on any node of their node type, as the user of its worker",
)
"""How a job of Rota's is not like one of cron's, whatever its line says."""

HomeOf = Callable[[str | None], str | None]
"""The home of a user, or of whoever asks; None if it is not known here."""


class CronLine(Struct, frozen=True, kw_only=True):
    """One line that makes a job."""

    number: int
    name: str
    cron: str
    script: str
    """For bash."""
    environment: dict[str, str]
    tz: str | None
    user: str | None
    home: str | None = None
    """Where it runs."""


class Crontab(Struct, frozen=True):
    lines: list[CronLine]
    notes: list[str]
    """What was left out or will be different, one sentence each."""


def read_crontab(text: str, label: str, *, has_users: bool, tz: str, home_of: HomeOf = lambda user: None) -> Crontab:
    """The lines of a crontab. `label` begins their names; `tz` is the zone unless the file names one. All lines that
    cannot be read are told at once."""
    reader = _Reader(label, has_users=has_users, tz=tz, home_of=home_of)
    lines: list[CronLine] = []
    faults: list[InvalidInput] = []
    for number, raw in enumerate(text.splitlines(), 1):
        try:
            line = reader.read(number, raw)
        except InvalidInput as fault:
            faults.append(fault)
        else:
            lines += [line] if line else []
    _refuse(faults)
    return Crontab(lines, list(dict.fromkeys(reader.notes)))


def _refuse(faults: list[InvalidInput]) -> None:
    if len(faults) > 1:
        told = "".join(f"\n  {fault}" for fault in faults)
        raise InvalidInput("crontab", f"{len(faults)} lines cannot be read, and nothing was taken over:{told}")
    for fault in faults:
        raise fault


class _Reader:
    """Goes through a crontab from the top: a variable holds for the lines below it."""

    def __init__(self, label: str, *, has_users: bool, tz: str, home_of: HomeOf) -> None:
        self._label = label
        self._home_of = home_of
        self._has_users = has_users
        self._tz = tz
        self._environment: dict[str, str] = {}
        self._names: set[str] = set()
        self.notes: list[str] = []

    def read(self, number: int, raw: str) -> CronLine | None:
        line = raw.strip()
        if not line or line.startswith("#"):
            return None
        if found := _VARIABLE.fullmatch(line):
            self._set(number, found[2], _unquoted(found[3]))
            return None
        return self._entry(number, line)

    def _set(self, number: int, name: str, value: str) -> None:
        if name in _ZONES:
            self._tz = value
        elif name == "MAILTO":
            self._note(number, "MAILTO is left out; `rota logs` shows what a job said")
        elif name == "SHELL":
            if value.rpartition("/")[2] not in ("sh", "bash", "dash"):
                self._note(number, f"SHELL={value} is left out; commands run in bash")
        else:
            self._environment[name] = value

    def _entry(self, number: int, line: str) -> CronLine | None:
        found = _FIELDS.fullmatch(line)
        rest = (found[2] or "").strip() if found else ""
        user: str | None = None
        if self._has_users and rest:
            user, *command = rest.split(None, 1)
            rest = "".join(command)
        if not found or not rest.strip():
            raise InvalidInput(f"line {number}", f"is neither a variable nor times and a command: {line[:60]!r}")
        if found[1].lower() == "@reboot":
            self._note(number, f"@reboot names no time and is left out: {rest.strip()[:60]}")
            return None
        self._check_times(number, found[1])
        if user:
            self._note(number, f"runs as the user of the worker, not as {user}")
        script = _script(rest.strip())
        name = self._name(rest)
        environment = dict(self._environment)
        return CronLine(
            number=number,
            name=name,
            cron=found[1],
            script=script,
            environment=environment,
            tz=self._tz,
            user=user,
            home=self._home(number, user),
        )

    def _home(self, number: int, user: str | None) -> str | None:
        """Cron begins there; a variable HOME says another place."""
        home = self._environment.get("HOME") or self._home_of(user)
        if home is None and user is not None:
            self._note(number, f"the home of {user} is not known here, so it runs where the worker was started")
        return home

    def _check_times(self, number: int, cron: str) -> None:
        try:
            read_trigger(ScheduleRequest(job_type="", cron=cron, dialect="unix", tz=self._tz), None)
        except InvalidInput as error:
            raise InvalidInput(f"line {number}: {error.field}", error.reason) from None

    def _name(self, command: str) -> str:
        """The label and the program's name; the same for the same file, so that a second import changes, not adds."""
        program = next((word for word in command.split() if "=" not in word and not word.startswith("-")), "job")
        word = _WORD.sub("-", program.rpartition("/")[2].rstrip(";")).strip("-.") or "job"
        base = f"{self._label}/{word}"[:_MAX_NAME]
        name = next(name for name in _numbered(base) if name not in self._names)
        self._names.add(name)
        return name

    def _note(self, number: int, text: str) -> None:
        self.notes.append(f"line {number}: {text}")


def _numbered(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        yield f"{base}-{number}"
        number += 1


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _script(command: str) -> str:
    """The command for bash. The first `%` ends it, what follows is its input, and each further one ends a line."""
    parts = [part.replace("\0", "%") for part in command.replace("\\%", "\0").split("%")]
    if len(parts) == 1:
        return parts[0]
    quoted = "\n".join(parts[1:]).replace("'", "'\\''")
    return f"printf '%s\\n' '{quoted}' | {{ {parts[0].strip()}\n}}"
