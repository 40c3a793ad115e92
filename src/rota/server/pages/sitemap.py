"""Every page of the dashboard. A new screen is added to `PAGES`, and to `NAVIGATION` as soon as it is whole."""

from rota.server.pages.page import Entry, Page
from rota.server.pages.screens import (
    audit,
    configurations,
    job,
    job_types,
    jobs,
    keys,
    nodes,
    overview,
    queues,
    schedules,
    topics,
)

PAGES: tuple[Page, ...] = (
    Page(path="/", section="Overview", gather=overview.gather, template="overview", parts=overview.PARTS),
    Page(path="/jobs", section="Jobs", gather=jobs.gather, template="jobs", parts=jobs.PARTS),
    Page(
        path="/jobs/{uuid}",
        section="Jobs",
        gather=job.gather,
        beside=job.gather_log,
        template="job",
        parts=job.PARTS,
        log_of="uuid",
    ),
    Page(path="/enqueue", section="Jobs", gather=job_types.gather_enqueue, template="enqueue"),
    Page(path="/queues", section="Queues", gather=queues.gather, template="queues", parts=queues.PARTS),
    Page(path="/schedules", section="Schedules", gather=schedules.gather, template="schedules", parts=schedules.PARTS),
    Page(path="/schedules/new", section="Schedules", gather=schedules.gather_form, template="schedule_form"),
    Page(path="/schedules/preview", section="Schedules", gather=schedules.gather_preview, template="schedule_preview"),
    Page(
        path="/schedules/{schedule}",
        section="Schedules",
        gather=schedules.gather_one,
        template="schedule",
        parts=schedules.ONE_PARTS,
    ),
    Page(
        path="/schedules/{schedule}/edit", section="Schedules", gather=schedules.gather_form, template="schedule_form"
    ),
    Page(
        path="/configurations",
        section="Events",
        gather=configurations.gather,
        template="configurations",
        parts=configurations.PARTS,
    ),
    Page(
        path="/configurations/{name}",
        section="Events",
        gather=configurations.gather_one,
        template="configuration",
        parts=configurations.ONE_PARTS,
    ),
    Page(
        path="/configurations/{name}/what-if",
        section="Events",
        gather=configurations.gather_what_if,
        template="what_if",
    ),
    Page(path="/topics", section="Topics", gather=topics.gather, template="topics", parts=topics.PARTS),
    Page(path="/topics/{topic}", section="Topics", gather=topics.gather_one, template="topic", parts=topics.ONE_PARTS),
    Page(path="/nodes", section="Nodes", gather=nodes.gather, template="nodes", parts=nodes.PARTS),
    Page(path="/job-types", section="Job types", gather=job_types.gather, template="job_types"),
    Page(
        path="/job-types/{job_type}",
        section="Job types",
        gather=job_types.gather_one,
        template="job_type",
        parts=("jobs",),
    ),
    Page(path="/keys", section="Keys", gather=keys.gather, template="keys", parts=keys.PARTS),
    Page(path="/audit", section="Audit log", gather=audit.gather, template="audit", parts=audit.PARTS),
)
NAVIGATION = (
    Entry("Overview", "/", "o", "show_overview"),
    Entry("Jobs", "/jobs", "j", "list_jobs"),
    Entry("Queues", "/queues", "q", "list_queues"),
    Entry("Schedules", "/schedules", "s", "list_schedules"),
    Entry("Events", "/configurations", "e", "list_configurations"),
    Entry("Topics", "/topics", "p", "list_topics"),
    Entry("Nodes", "/nodes", "n", "list_nodes", True),
    Entry("Job types", "/job-types", "t", "list_job_types", True),
    Entry("Audit log", "/audit", "a", "list_audit", True),
    Entry("Keys", "/keys", "k", "list_keys", True),
)
