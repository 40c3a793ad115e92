"""What APScheduler's programs catch, and what names a store."""


class JobLookupError(KeyError):
    """No job has this id."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"No job by the id of {job_id} was found")


class ConflictingIdError(KeyError):
    """A job has this id already."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"Job identifier ({job_id}) conflicts with an existing job")


class JobStore:
    """The name of a store of Rota's."""

    def __init__(self, url: str) -> None:
        self.url = url
