"""The entries of the navigation, in their order. `Entry` says who sees one."""

from rota.server.pages.page import Entry

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
