"""An installation with sources, without a node."""

from pathlib import Path

from rota.clock import ManualClock
from rota.dialects import registry
from rota.dialects.sync_tasks.tasks import Tasks
from rota.engine.definitions.file import Wanted
from rota.engine.engine import Engine
from rota.model.job import Job
from rota.settings import Settings, load_settings
from rota.store import Store
from tests.contract.building import claim_one, finish, succeed

YAML = """
sources:
  shop:
    executor: bash
    metadata: {command: "true"}
    collections: [{name: orders, schedule: "@hourly"}, {name: users}]
"""


def read(folder: Path, text: str) -> Settings:
    """The settings in a file of this text."""
    (folder / "rota.yaml").write_text(text)
    return load_settings({}, {}, None, folder, registry.sections())


class Shop:
    """One store with the sources of a file."""

    def __init__(self, store: Store, folder: Path, text: str = YAML) -> None:
        self.store = store
        self.clock = ManualClock(store.now())
        self.engine = Engine(store, self.clock)
        self.settings = read(folder, text)
        self.engine.file.apply(Wanted.of(self.settings))
        self.tasks = Tasks(self.engine)
        self.queue = self.engine.definitions.node_type("sync_tasks").uuid

    def run(self, collection: str = "orders") -> Job:
        """A task that was run."""
        job, _ = self.tasks.create("shop", collection)
        finish(self.store, succeed(claim_one(self.store, self.queue, now=self.clock.now())), now=self.clock.now())
        return self.engine.jobs.find(job.id)
