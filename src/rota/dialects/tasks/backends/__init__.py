"""Where tasks are kept and given out: the contract of a backend, Rota's own, and a run on its way to a handler."""
