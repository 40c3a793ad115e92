"""The backend that `TASKS` names. Django calls it; its contract is that of `django.tasks.backends.base`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.core.checks import CheckMessage, Error
from django.tasks import Task, TaskResult
from django.tasks.backends.base import BaseTaskBackend
from django.tasks.exceptions import TaskResultDoesNotExist
from django.tasks.signals import task_enqueued
from django.utils import timezone

from rota.clock import as_millis
from rota.engine.jobs.intake import JobRequest
from rota.errors import GiveUp, InvalidInput, NotFound
from rota.model.job import Job
from rota.sdk.django.arguments import check_call, plain
from rota.sdk.django.installation import DjangoApp, app_of_store
from rota.sdk.django.options import check_options, request_fields
from rota.sdk.django.outbox import find_waiting, write_row
from rota.sdk.django.results import begun, instant, result_of, waiting_result
from rota.sdk.django.running import find_task, is_of_django
from rota.sdk.outbox.relay import read_request


class RotaBackend(BaseTaskBackend):  # type: ignore[misc]  # Django has no types
    """Tasks become jobs, queues node types."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    @property
    def app(self) -> DjangoApp:
        return app_of_store(self.options.get("store"))

    @property
    def outbox(self) -> str | None:
        """The database whose transactions tasks are part of."""
        found: str | None = self.options.get("outbox")
        return found

    def enqueue(self, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Make a job of a call: at once, or with an outbox exactly if the transaction there is committed."""
        self.validate_task(task)
        check_call(task, args, kwargs)
        request = self._request(task, plain("args", args), plain("kwargs", kwargs))
        job_id = self._hand_in(task, request) if self.outbox is None else write_row(self.outbox, request)
        result = waiting_result(task, job_id, request)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """What is known of a job now; `TaskResultDoesNotExist` if there is none, or none of this backend's."""
        try:
            try:
                job = self.app.rota.handle(result_id).job
            except NotFound:
                found = self._result_of_row(result_id)
                if found is not None:
                    return found
                job = self.app.rota.handle(result_id).job  # it may have been relayed between the two looks
            return result_of(self._task_of(job), job)
        except (NotFound, GiveUp) as error:
            raise TaskResultDoesNotExist(str(error)) from error

    def begun_result(self, result_id: str, now: int) -> TaskResult:
        """The same for the worker that begins to run it now."""
        job = self.app.rota.handle(result_id).job
        return result_of(self._task_of(job), begun(job, now))

    def check(self, **kwargs: object) -> list[CheckMessage]:
        """What is wrong with the settings. The store is not asked."""
        try:
            check_options(self.options, self.queues)
        except InvalidInput as error:
            hint = "See the section on Django in Rota's docs/frameworks.md."
            return [Error(f"TASKS[{self.alias!r}]: {error}.", hint=hint, id="rota.E001")]
        return []

    def _request(self, task: Task, args: object, kwargs: object) -> JobRequest:
        return JobRequest(
            job_type=task.module_path,
            arguments={"args": args, "kwargs": kwargs, "backend": self.alias},
            priority=task.priority,
            node_type=task.queue_name,
            run_at=None if task.run_after is None else as_millis(_aware(task.run_after)),
            **request_fields(self.options),  # type: ignore[arg-type]
        )

    def _hand_in(self, task: Task, request: JobRequest) -> str:
        self.app.job_type_of(task.module_path, task.func)
        return self.app.hand_in([request])[0]

    def _result_of_row(self, result_id: str) -> TaskResult | None:
        row = None if self.outbox is None else find_waiting(self.outbox, result_id)
        if row is None:
            return None
        text, reason = row
        request = read_request(text)
        if request.arguments.get("backend") != self.alias:
            raise NotFound("task result", result_id, f"it is no job of the backend {self.alias!r}")
        task = replace(
            find_task(request.job_type),
            backend=self.alias,
            priority=request.priority,
            queue_name=request.node_type,
            run_after=instant(request.run_at),
        )
        return waiting_result(task, result_id, request, reason=reason)

    def _task_of(self, job: Job) -> Task:
        """The task as it was enqueued."""
        definitions = self.app.rota.engine.definitions
        job_type = definitions.job_type(job.spec.job_type)
        if not is_of_django(job_type) or job.spec.arguments.get("backend") != self.alias:
            raise NotFound("task result", job.id, f"it is no job of the backend {self.alias!r}")
        return replace(
            find_task(job_type.name),
            backend=self.alias,
            priority=job.spec.priority,
            queue_name=definitions.node_type(job.spec.queue).name,
            run_after=instant(job.spec.run_at),
        )


def _aware(moment: datetime) -> datetime:
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)
