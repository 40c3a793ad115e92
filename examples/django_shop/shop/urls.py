"""`POST /fetches` enqueues and answers 202 with the address of the job, `GET /fetches/ID` shows how far it is."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path, reverse

from shop.tasks import fetch


def start(request: HttpRequest) -> HttpResponse:
    result = fetch.enqueue(host=json.loads(request.body)["host"])
    return JsonResponse({"job": result.id}, status=202, headers={"Location": reverse("show", args=[result.id])})


def show(request: HttpRequest, job: str) -> HttpResponse:
    result = fetch.get_result(job)
    found = result.return_value if result.status == "SUCCESSFUL" else None
    return JsonResponse({"status": result.status, "result": found})


urlpatterns = [path("fetches", start), path("fetches/<str:job>", show, name="show")]
