"""A Flask app that has its slow work done by Rota. The jobs are in rota.db, and a worker runs them.

flask --app flask_shop run
rota worker flask_shop:tasks
"""

import os

from flask import Flask, jsonify, request, url_for
from flask.typing import ResponseReturnValue

from rota import Rota

tasks = Rota(os.environ.get("ROTA_STORE", "sqlite:///rota.db"))
app = Flask(__name__)


@tasks.task(retries=3, rate="10/s", rate_key="{host}")
def fetch(host: str) -> str:
    return f"what {host} says"


@app.post("/fetches")
def start() -> ResponseReturnValue:
    handle = fetch.enqueue(host=request.get_json()["host"])
    return jsonify(job=handle.id), 202, {"Location": url_for("show", job=handle.id)}


@app.get("/fetches/<job>")
def show(job: str) -> ResponseReturnValue:
    handle = tasks.handle(job)
    status = handle.status
    return jsonify(status=status, result=handle.result if status == "succeeded" else None)
