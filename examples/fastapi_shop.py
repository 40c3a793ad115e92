"""A FastAPI app that has its slow work done by Rota, in workers of their own or in the same process.

fastapi run fastapi_shop.py
rota worker fastapi_shop:tasks
"""

import asyncio
import os

from fastapi import FastAPI
from pydantic import BaseModel

from rota import Rota

tasks = Rota(os.environ.get("ROTA_STORE", "sqlite:///rota.db"))
app = FastAPI()


@tasks.task(retries=3)
async def fetch(host: str) -> str:
    return f"what {host} says"


class Fetch(BaseModel):
    host: str


class Started(BaseModel):
    job: str


class Shown(BaseModel):
    status: str
    result: str | None = None


@app.post("/fetches", status_code=202)
async def start(wanted: Fetch) -> Started:
    handle = await fetch.aenqueue(host=wanted.host)
    return Started(job=handle.id)


@app.get("/fetches/{job}")
async def show(job: str, wait: float = 0) -> Shown:
    """With `wait`, give the job so many seconds to end."""
    handle = tasks.handle(job)
    try:
        return Shown(status="succeeded", result=await handle.aget(timeout=wait))
    except TimeoutError:
        return Shown(status=await asyncio.to_thread(lambda: handle.status))
