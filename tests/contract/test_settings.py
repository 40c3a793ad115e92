"""Settings of the installation."""

from rota.store import Store
from tests.conftest import OpenStore


def test_a_setting_that_was_never_put_is_absent(store: Store) -> None:
    assert store.get_setting("api_key_hash") is None


def test_a_setting_is_kept(store: Store) -> None:
    kept = store.put_setting("api_key_hash", "é \x00 \n {}")

    assert kept == "é \x00 \n {}"
    assert store.get_setting("api_key_hash") == kept


def test_a_setting_is_replaced(store: Store) -> None:
    store.put_setting("name", "old")

    assert store.put_setting("name", "new") == "new"

    assert store.get_setting("name") == "new"


def test_an_older_setting_survives_if_asked_so(store: Store) -> None:
    first = store.put_setting("name", "old", only_if_absent=True)
    second = store.put_setting("name", "new", only_if_absent=True)

    assert (first, second) == ("old", "old")
    assert store.get_setting("name") == "old"


def test_an_empty_setting_is_not_an_absent_one(store: Store) -> None:
    store.put_setting("name", "")

    assert store.put_setting("name", "new", only_if_absent=True) == ""
    assert store.get_setting("name") == ""


def test_settings_do_not_mix(store: Store) -> None:
    store.put_setting("a", "1")
    store.put_setting("b", "2")

    assert (store.get_setting("a"), store.get_setting("b"), store.get_setting("c")) == ("1", "2", None)


def test_settings_are_seen_through_every_handle(store: Store, open_again: OpenStore) -> None:
    store.put_setting("name", "value")

    assert open_again().get_setting("name") == "value"


def test_settings_are_listed_by_the_beginning_of_their_names(store: Store) -> None:
    for name in ("key:b", "key:a", "keys", "other", "key:%_"):
        store.put_setting(name, f"value of {name}")

    assert store.list_settings("key:") == {name: f"value of {name}" for name in ("key:%_", "key:a", "key:b")}
    assert store.list_settings("nothing") == {}


def test_the_beginning_of_a_name_is_taken_letter_by_letter(store: Store) -> None:
    for name in ("key:a", "KEY:b", "key%c", "key_d", "key"):
        store.put_setting(name, "value")

    assert [[*store.list_settings(prefix)] for prefix in ("key:", "KEY", "key%", "key_")] == [
        ["key:a"],
        ["KEY:b"],
        ["key%c"],
        ["key_d"],
    ]
    assert len(store.list_settings("")) == 5


def test_a_setting_is_forgotten_once(store: Store) -> None:
    store.put_setting("a", "1")
    store.put_setting("b", "2")

    assert [store.delete_setting("a"), store.delete_setting("a")] == [True, False]
    assert (store.get_setting("a"), store.get_setting("b")) == (None, "2")
