"""Gathers what there is to know of a job, a schedule or a configuration, and asks the model why it does not run."""
