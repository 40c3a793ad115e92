"""Configurations that make each other's jobs, as far as a set of rules tells."""

from rota.engine.definitions.job_cycles import find_cycle_through, names_with
from rota.store.contract.events import JobRules
from tests.contract.events.configuring import JOB_TYPE, configuration, dependency


def test_a_job_type_that_is_being_renamed_has_both_names() -> None:
    rules = JobRules(1, [], frozenset({(JOB_TYPE, "new"), ("other", "made")}))

    names = names_with(rules, {JOB_TYPE: "old", "third": "third"})

    assert names == {JOB_TYPE: {"old", "new"}, "other": {"made"}, "third": {"third"}}
    for name in ("old", "new"):
        waits_for_itself = configuration("q", dependency(name, "JOB"))
        assert find_cycle_through(name, [waits_for_itself], names)
