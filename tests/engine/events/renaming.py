"""A new name of a job type and a rule, each of which is harmless without the other."""

from msgspec import structs

from rota.errors import InvalidInput
from rota.model.job_type import JobType
from tests.engine.events.installation import EventsInstallation, needs


def mail_of(desk: EventsInstallation) -> JobType:
    """The job type `mail`, whatever it is called by now."""
    (mail,) = (one for one in desk.definitions.job_types() if one.name in ("mail", "later"))
    return mail


def rename_mail(desk: EventsInstallation) -> bool:
    """Tells whether the job type `mail` could become `later`."""
    try:
        desk.definitions.change_job_type(structs.replace(mail_of(desk), name="later"))
    except InvalidInput:
        return False
    return True


def make_mail_after_later(desk: EventsInstallation) -> bool:
    """Tells whether a rule that makes jobs of the type `mail` could wait for `later`."""
    try:
        desk.define_configuration("again", needs("JOB", "later", 0), job={"job_type": mail_of(desk).uuid})
    except InvalidInput:
        return False
    return True
