"""The backend that `TASKS` names. Django calls it; its contract is that of `django.tasks.backends.base`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.core.checks import CheckMessage, Error
from django.tasks import Task, TaskResult, TaskResultStatus
from django.tasks.backends.base import BaseTaskBackend
from django.tasks.exceptions import TaskResultDoesNotExist
from django.tasks.signals import task_enqueued
from django.utils import timezone

from rota.errors import GiveUp, InvalidInput, NotFound
from rota.model.job import Job
from rota.sdk.django.arguments import check_call, plain
from rota.sdk.django.installation import DjangoApp, app_of_store
from rota.sdk.django.options import call_options, check_options
from rota.sdk.django.results import begun, instant, result_of
from rota.sdk.django.running import find_task, is_of_django
from rota.sdk.tasks.options import CallOptions


class RotaBackend(BaseTaskBackend):  # type: ignore[misc]  # Django has no types
    """Tasks become jobs, queues node types."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    @property
    def app(self) -> DjangoApp:
        return app_of_store(self.options.get("store"))

    def enqueue(self, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Make a job of a call, at once: whether a transaction is committed later is nothing to it."""
        self.validate_task(task)
        check_call(task, args, kwargs)
        arguments = {"args": plain("args", args), "kwargs": plain("kwargs", kwargs), "backend": self.alias}
        job_type = self.app.job_type_of(task.module_path, task.func)
        handle = job_type.options(**self._call_options(task)).enqueue(**arguments)
        result = TaskResult(
            task=task,
            id=handle.id,
            status=TaskResultStatus.READY,
            enqueued_at=instant(self.app.rota.engine.clock.now()),
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=arguments["args"],
            kwargs=arguments["kwargs"],
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """What is known of a job now; `TaskResultDoesNotExist` if there is none, or none of this backend's."""
        try:
            job = self.app.rota.handle(result_id).job
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

    def _call_options(self, task: Task) -> CallOptions:
        found = call_options(self.options)
        found["priority"] = task.priority
        found["queue"] = task.queue_name
        if task.run_after is not None:
            is_aware = timezone.is_aware(task.run_after)
            found["run_at"] = task.run_after if is_aware else timezone.make_aware(task.run_after)
        return found

    def _task_of(self, job: Job) -> Task:
        """The task as it was enqueued."""
        definitions = self.app.rota.engine.definitions
        job_type = definitions.job_type(job.spec.job_type)
        if not is_of_django(job_type) or job.spec.arguments.get("backend") != self.alias:
            raise NotFound("task result", job.id, f"it is no job of the backend {self.alias!r}")
        run_at = job.spec.run_at
        return replace(
            find_task(job_type.name),
            backend=self.alias,
            priority=job.spec.priority,
            queue_name=definitions.node_type(job.spec.queue).name,
            run_after=None if run_at is None else instant(run_at),
        )
