"""`redis-cli` for the pages, whether or not it is installed: `python -m tests.docs.redis_cli PORT WORD...`."""

import sys

from tests.servers import raw_command

print(raw_command(int(sys.argv[1]), *sys.argv[2:]))
