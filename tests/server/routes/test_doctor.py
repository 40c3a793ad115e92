"""The examination of an installation by its server."""

from contextlib import closing

from rota.store import open_store
from tests.server.serving import make_api, served
from tests.servers import RedisServer, raw_command


def test_a_redis_with_a_password_is_examined_and_its_password_is_not_told() -> None:
    with RedisServer() as server:
        raw_command(server.port, "CONFIG", "SET", "requirepass", "s3cret-word")
        with closing(open_store(f"redis://:s3cret-word@{server.address}/0")) as store:
            with served(make_api(store)) as client:
                answer = client.get("/api/doctor")

            assert answer.status_code == 200, answer.text
            assert "s3cret-word" not in answer.text + store.url
