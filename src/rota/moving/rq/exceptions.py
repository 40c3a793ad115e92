"""What RQ's programs catch."""


class NoSuchJobError(Exception):
    """No job has this id, or history no longer knows it."""


class DuplicateJobError(Exception):
    """A job has this id already."""
