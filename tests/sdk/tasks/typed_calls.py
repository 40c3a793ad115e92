"""Right and wrong calls of tasks, for `test_typing.py`: it has mypy read this file, and nobody runs it.

Behind `# error:` is what mypy says of the line.
"""

from typing import assert_type

from rota import FlowHandle, Handle, Rota, current_job, group

app = Rota("sqlite:///rota.db")


@app.task
def add(a: int, b: int = 1) -> int:
    return a + b


@app.task(retries=3, timeout="5m", cron="@daily", tz="Europe/Berlin")
async def report(day: str = "today") -> list[str]:
    return [day]


async def right() -> None:
    assert_type(add(1), int)
    assert_type(await report("monday"), list[str])
    assert_type(add.enqueue(1, b=2), Handle[int])
    assert_type(add.delay(1), Handle[int])
    assert_type(await report.aenqueue(day="monday"), Handle[list[str]])
    assert_type(report.options(priority=5, delay="5m").enqueue("monday"), Handle[list[str]])
    assert_type(add.map([(1, 2), {"a": 1}]), list[Handle[int]])
    assert_type(add.enqueue(1).get(timeout=5), int)
    assert_type(await report.enqueue().aget(), list[str])
    assert_type(report.enqueue().result, list[str])
    assert_type(add.enqueue(1).cancel(), bool)
    assert_type(current_job().attempt, int)
    current_job().progress(1, 2.5, "half")
    assert_type(add.step(1).then(add).then(report, although_failed=True).enqueue(), FlowHandle[list[str]])
    assert_type(await group([add.step(1), report]).then(report.step("monday")).aenqueue(), FlowHandle[list[str]])
    assert_type(add.then(report).enqueue().get(timeout=5), list[str])
    assert_type(await group([add.step(1), add.step(2)]).enqueue().aget(), list[int])
    assert_type(group([add.step(1), report]).enqueue().get(), list[object])


async def wrong() -> None:
    add("one")  # error: [arg-type]
    add.enqueue()  # error: [call-arg]
    add.enqueue("one")  # error: [arg-type]
    add.enqueue(1, c=2)  # error: [call-arg]
    add.delay(1, 2, 3)  # error: [call-arg]
    await report.aenqueue(day=1)  # error: [arg-type]
    report.options(priority="high").enqueue()  # error: [arg-type]
    report.options(colour=1)  # error: [call-arg]
    report.options(priority=5).enqueue(1)  # error: [arg-type]
    app.task(retrys=3)  # error: [call-overload]
    app.task(unique="yes")(add)  # error: [call-overload]
    current_job().progress("half")  # error: [arg-type]
    add.step(1).then("report")  # error: [arg-type]
    group(add.step(1))  # error: [call-overload]
    day: str = add.enqueue(1).result  # error: [assignment]
    day = report.then(add).enqueue().get()  # error: [assignment]
    print(day)
