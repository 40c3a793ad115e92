"""Redis names job types and defines rules in several steps. Wherever another comes between them, they form no cycle."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import pytest
from msgspec import structs

from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.store import Store
from tests.conftest import OpenStore
from tests.contract.steps import die, run_with
from tests.engine.events.installation import NOW, EventsInstallation
from tests.engine.events.renaming import mail_of, make_mail_after_later, rename_mail

# SQLite does each of this in one transaction.
pytestmark = pytest.mark.stores("redis", "redis-cluster")
Act = Callable[[EventsInstallation], bool]


@pytest.fixture
def installation(store: Store) -> EventsInstallation:
    """An installation with the job type `mail`."""
    found = EventsInstallation(store)
    found.definitions.define_job_type(JobType(uuid=new_id(NOW), name="mail", executor="log"))
    return found


def from_the_beginning(installation: EventsInstallation) -> Iterator[int]:
    """Numbers of steps, each with no rule and the job type `mail`."""
    for number in count():
        yield number
        rules = installation.store.list_configurations(limit=9).entries
        installation.store.delete_configurations([entry.configuration.uuid for entry in rules])
        installation.definitions.change_job_type(structs.replace(mail_of(installation), name="mail"))


@pytest.mark.parametrize(
    ("act", "meanwhile"), [(rename_mail, make_mail_after_later), (make_mail_after_later, rename_mail)]
)
def test_of_a_rule_and_a_new_name_that_close_a_cycle_one_is_accepted_whoever_comes_between(
    installation: EventsInstallation, open_again: OpenStore, act: Act, meanwhile: Act
) -> None:
    desk, accepted = EventsInstallation(open_again()), list[bool]()
    for number in from_the_beginning(installation):
        accepted.clear()

        ran = run_with(desk.store, number, partial(act, desk), before=lambda: accepted.append(meanwhile(installation)))

        if not ran.is_reached:
            break
        assert sorted([*accepted, bool(ran.answer)]) == [False, True], number


def test_whoever_dies_while_a_name_is_given_leaves_it_to_the_next(
    installation: EventsInstallation, open_again: OpenStore
) -> None:
    desk = EventsInstallation(open_again())
    for number in from_the_beginning(installation):
        is_cut = run_with(desk.store, number, partial(rename_mail, desk), before=die).is_reached

        assert rename_mail(installation)
        assert not make_mail_after_later(installation)
        if not is_cut:
            break
