"""An outbox in a program's own database: requests for jobs as rows of its transactions, which a relay makes jobs of."""
