"""What is done by workers."""

from django.tasks import task

from shop.models import Order


@task
def fetch(host: str) -> str:
    return f"what {host} says"


@task(backend="orders")
def send_receipt(number: int) -> str:
    order = Order.objects.get(pk=number)  # it is there: the task exists because its transaction was committed
    order.receipt = f"receipt of order {number}: {order.item}"
    order.save()
    return order.receipt
