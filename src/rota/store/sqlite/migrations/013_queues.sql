-- Where the queues of schedules and configurations are found, also of those that are not due.

CREATE INDEX schedules_queue ON schedules (queue);
CREATE INDEX configurations_queue ON configurations (queue);
