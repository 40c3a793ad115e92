"""A worker as a process of its own: `python -m tests.system.worker_main URL`.

The first SIGTERM asks it to stop, the second to stop at once. An error that Rota can explain is one line and its exit
code, as the command line has it.
"""

import argparse
import asyncio
import resource
import signal
import sys
from collections.abc import Callable

from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.errors import RotaError
from rota.host.log_format import set_up_logging
from rota.store import open_store


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--node-type", default="default")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--grace-s", type=float, default=NodeOptions().stop_grace_s)
    parser.add_argument("--dead-after-ms", type=int, default=NodeOptions().dead_after_ms)
    parser.add_argument("--descriptors", type=int, help="the most that it may have open")
    arguments = parser.parse_args()
    if arguments.descriptors:
        resource.setrlimit(resource.RLIMIT_NOFILE, (arguments.descriptors, arguments.descriptors))
    options = NodeOptions(
        node_type=arguments.node_type,
        threads=arguments.threads,
        stop_grace_s=arguments.grace_s,
        dead_after_ms=arguments.dead_after_ms,
    )
    set_up_logging("INFO")
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(serve(arguments.url, options))
    except RotaError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def serve(url: str, options: NodeOptions) -> None:
    store = open_store(url)
    node = Node.open(store, options)
    is_stopping = False

    def stop() -> None:
        nonlocal is_stopping
        node.request_stop(at_once=is_stopping)
        is_stopping = True

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    await node.run()
    store.close()


if __name__ == "__main__":
    sys.exit(main())
