"""One line to the servers of a store: its scripts and plain commands, with Redis's errors as ours.

redis-py repeats nothing by itself. Here a call is made once more when its connection broke, as one does that was idle
while the server restarted. The first call may have been carried out and its answer lost, so this is for what may be
done twice only: every plain command, and those scripts whose caller does not forbid it.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar, cast

from redis.cluster import RedisCluster
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError, ResponseError

from rota.errors import StoreFull, StoreUnavailable
from rota.store.redis.link.commands import Commands, Value
from rota.store.redis.link.connection import Address, check_server, translated_errors
from rota.store.redis.link.scripts import SCRIPTS, Script, ScriptCall, parts_of

_REPLICA_PATIENCE_MS = 1_000
_MOST_TOGETHER = 1_000
"""Scripts that go to a server of a cluster in one round trip. Each may have as many arguments as one takes."""
_Answer = TypeVar("_Answer")


class Link:
    """Connects at the first call. Any thread may use it, once it is connected."""

    def __init__(self, address: Address, *, answer_timeout_s: float | None = None) -> None:
        self.address = address
        self.url = address.shown
        self.is_cluster = address.kind == "cluster"
        self.commands = cast(Commands, _RepeatedCommands(self))
        """Plain commands, one round trip each."""
        self._answer_timeout_s = answer_timeout_s
        self._client: Any = None
        self._contacts = count(1)
        self.contacts = 0
        """How many connections were made, or broke under a call that was repeated."""

    @property
    def client(self) -> Any:
        """redis-py's own: its errors are the driver's, and nothing is repeated."""
        if self._client is None:
            self._client = self.address.connect(answer_timeout_s=self._answer_timeout_s, on_connect=self._count_contact)
        return self._client

    def _count_contact(self) -> None:
        self.contacts = next(self._contacts)

    def check(self) -> list[str]:
        """Refuse servers that would lose jobs by themselves; returns what an operator should know."""
        with translated_errors(self.url):
            return check_server(self.client, self.url)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def now(self, key: str | None = None) -> int:
        """The servers' clock, in epoch milliseconds: on a cluster, of the server that has a key, or of any."""
        seconds, micros = self.repeated(lambda: self._ask_time(key))
        return int(seconds) * 1000 + int(micros) // 1000

    def _ask_time(self, key: str | None) -> Any:
        if not self.is_cluster:
            return self.client.time()
        return self.client.time(target_nodes=RedisCluster.RANDOM if key is None else self.client.get_node_from_key(key))

    def repeated(self, call: Callable[[], _Answer]) -> _Answer:
        """What a call answers. It is made once more if the connection broke."""
        with translated_errors(self.url):
            try:
                return call()
            except RedisConnectionError:
                self._count_contact()  # the other server of a fail-over may have had a connection all the time
                return call()

    # -- scripts ---------------------------------------------------------------------------------------------------

    def run(self, name: str, keys: Sequence[str], args: Sequence[Value], *, repeats: bool = True) -> Any:
        """Call a script of the store; its header says what it answers."""
        if repeats:
            return self.run_script(SCRIPTS[name], keys, args)
        with translated_errors(self.url):
            return SCRIPTS[name].call(self.client, keys, args)

    def run_script(self, script: Script, keys: Sequence[str], args: Sequence[Value]) -> Any:
        """Call a script that may be repeated."""
        return self.repeated(lambda: script.call(self.client, keys, args))

    def run_and_tell(self, name: str, keys: Sequence[str], args: Sequence[Value]) -> tuple[Any, bool]:
        """Call a script that may be repeated; tells also whether it was. The answer is that of the last call then, and
        what it found done may have been done by the first."""
        with translated_errors(self.url):
            try:
                return SCRIPTS[name].call(self.client, keys, args), False
            except RedisConnectionError:
                self._count_contact()
                return SCRIPTS[name].call(self.client, keys, args), True

    def run_together(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Several scripts in one round trip, none of which is repeated. Not on a cluster."""
        with translated_errors(self.url):
            return self._send_scripts(calls)

    def run_each(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Several scripts that may be repeated; in one round trip, but on a cluster one after the other."""
        if self.is_cluster or len(calls) < 2:
            return [self.run(*call) for call in calls]
        return self.repeated(lambda: self._send_scripts(calls))

    def run_in_any_order(self, calls: Sequence[ScriptCall], away: dict[str, StoreUnavailable]) -> list[Any]:
        """Several scripts that may be repeated; in one round trip, on a cluster in one to each server. A server of a
        cluster that is away keeps no other from answering: its answers are None, and its error is put into `away`. One
        that is there already is not asked, since it may hang."""
        if not self.is_cluster:
            return self.run_each(calls)
        answers: dict[int, Any] = {}
        for server, numbers in self.client.by_server([keys[0] for _, keys, _ in calls]).items():
            for part in parts_of(numbers, _MOST_TOGETHER):
                if server not in away:
                    try:
                        answers.update(zip(part, self._run_on_server([calls[number] for number in part]), strict=True))
                    except StoreUnavailable as error:
                        away[server] = error
        return [answers.get(number) for number in range(len(calls))]

    def _run_on_server(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Scripts whose keys one server of a cluster has, as far as is known. What it does not answer is run by itself:
        it may not know the script, or its keys may be elsewhere now; and what is refused for another reason is refused
        once more."""
        if len(calls) < 2:
            return [self.run(*call) for call in calls]
        commands = [("EVALSHA", SCRIPTS[name].sha, len(keys), *keys, *args) for name, keys, args in calls]
        with translated_errors(self.url):
            try:
                answers = self.client.send_together(calls[0][1][0], commands)
            except RedisConnectionError as error:
                self._count_contact()
                answers = [error] * len(calls)
        return [
            self.run(*call) if isinstance(answer, RedisError) else answer
            for call, answer in zip(calls, answers, strict=True)
        ]

    def _send_scripts(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """In one round trip; a script that the server does not know is sent whole afterwards."""
        pipeline = self.client.pipeline(transaction=False)
        for name, keys, args in calls:
            pipeline.evalsha(SCRIPTS[name].sha, len(keys), *keys, *args)
        answers = pipeline.execute(raise_on_error=False)
        for number, (name, keys, args) in enumerate(calls):
            if isinstance(answers[number], NoScriptError):
                answers[number] = SCRIPTS[name].call(self.client, keys, args)
            if isinstance(answers[number], ResponseError):
                raise answers[number]
        return list(answers)

    # -- commands --------------------------------------------------------------------------------------------------

    def read_together(self, *commands: Sequence[str]) -> list[Any]:
        """Several plain commands that read, in one round trip."""
        return self.repeated(lambda: self._send_commands(commands))

    def _send_commands(self, commands: Sequence[Sequence[str]]) -> list[Any]:
        pipeline = self.client.pipeline(transaction=False)
        for name, *args in commands:
            getattr(pipeline, name)(*args)
        return list(pipeline.execute())

    def await_replicas(self, key: str) -> None:
        """Wait until as many replicas as the address asks for have everything that the key's server was given so far: a
        write on a connection, and there the wait for it. It costs one round trip, and the time that the replicas take.
        Whatever goes wrong, what was given before is written, and the error says so."""
        wanted = self.address.wait_replicas
        if not wanted:
            return
        try:
            confirmed = self._count_replicas(key, wanted)
        except (StoreFull, StoreUnavailable) as error:
            raise StoreUnavailable(
                f"written, but it is not known whether replicas have it: {error}; repeating with the same ids is "
                "harmless"
            ) from error
        if confirmed < wanted:
            raise StoreUnavailable(
                f"{self.url}: written, but {confirmed} of {wanted} replicas confirmed it within {_REPLICA_PATIENCE_MS} "
                "ms, so that a fail-over may lose it; repeating with the same ids is harmless"
            )

    def _count_replicas(self, key: str, wanted: int) -> int:
        """How many replicas have everything, as soon as these are as many as wanted. The write is sent as a text: it
        goes to a server together with the wait, and that server may not know it."""
        with translated_errors(self.url):
            client = self.client.get_node_from_key(key).redis_connection if self.is_cluster else self.client
            pipeline = client.pipeline(transaction=False)
            pipeline.eval(SCRIPTS["raise_synced"].text, 1, key)
            pipeline.execute_command("WAIT", wanted, _REPLICA_PATIENCE_MS)
            written, confirmed = pipeline.execute(raise_on_error=False)
            for answer in (written, confirmed):
                if isinstance(answer, RedisError):
                    raise answer
            return int(confirmed)


class _RepeatedCommands:
    """Every plain command, as `Commands` says."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def __getattr__(self, command: str) -> Callable[..., Any]:
        link = self._link
        return lambda *args, **options: link.repeated(lambda: getattr(link.client, command)(*args, **options))
