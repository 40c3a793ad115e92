"""The numbered scripts that bring an older file up to date."""

from importlib import resources


def test_migrations_are_numbered_from_one_without_a_gap_or_a_twin() -> None:
    folder = resources.files("rota.store.sqlite").joinpath("migrations")

    numbers = sorted(int(file.name[:3]) for file in folder.iterdir() if file.name.endswith(".sql"))

    assert numbers == list(range(1, len(numbers) + 1))
