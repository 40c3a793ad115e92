"""`POST /fetches` enqueues and answers 202 with the address of the job, `GET /fetches/ID` shows how far it is.

`POST /orders` writes an order and enqueues its receipt, both or none.
"""

import json

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import path, reverse

from shop.models import Order
from shop.tasks import fetch, send_receipt


def start(request: HttpRequest) -> HttpResponse:
    result = fetch.enqueue(host=json.loads(request.body)["host"])
    return JsonResponse({"job": result.id}, status=202, headers={"Location": reverse("show", args=[result.id])})


def show(request: HttpRequest, job: str) -> HttpResponse:
    result = fetch.get_result(job)
    found = result.return_value if result.status == "SUCCESSFUL" else None
    return JsonResponse({"status": result.status, "result": found})


def order(request: HttpRequest) -> HttpResponse:
    asked = json.loads(request.body)
    with transaction.atomic():
        made = Order.objects.create(item=asked["item"])
        result = send_receipt.enqueue(made.pk)
        if asked.get("sold_out"):
            transaction.set_rollback(True)
    return JsonResponse({"order": made.pk, "job": result.id}, status=409 if asked.get("sold_out") else 201)


def show_order(request: HttpRequest, number: int) -> HttpResponse:
    return JsonResponse({"receipt": get_object_or_404(Order, pk=number).receipt})


urlpatterns = [
    path("fetches", start),
    path("fetches/<str:job>", show, name="show"),
    path("orders", order),
    path("orders/<int:number>", show_order),
]
