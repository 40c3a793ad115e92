"""Programs such as users write. Their tasks are at the top of a module, where workers find them."""

import asyncio

from rota import RetryPolicy, Rota, current_job

app = Rota("sqlite:///nowhere.db", name="shop")
clockwork = Rota("sqlite:///nowhere.db", name="clockwork")
seen: list[str] = []


@app.task
def double(number: int) -> int:
    current_job().log("doubling")
    return 2 * number


@app.task
async def count_down(number: int) -> int:
    if number:
        await count_down.aenqueue(number=number - 1)
    return number


@app.task
def fail() -> None:
    raise ValueError("no")


@app.task(retries=RetryPolicy(attempts=3, delay_ms=60_000, factor=2.0, jitter=0.5))
def stumble() -> int:
    if current_job().attempt < 3:
        raise ValueError("not yet")
    return current_job().attempt


@app.task
async def work() -> str:
    await asyncio.sleep(0)
    seen.append("work")
    return "done"


@app.task
def again() -> None:
    again.enqueue()


@clockwork.task(cron="0 2 * * *", tz="Europe/Berlin")
def report() -> None:
    scheduled = current_job().scheduled_for
    assert scheduled is not None
    seen.append(scheduled.isoformat())
