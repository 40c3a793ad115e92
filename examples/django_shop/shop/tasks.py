"""What is done by workers."""

from django.tasks import task


@task
def fetch(host: str) -> str:
    return f"what {host} says"
