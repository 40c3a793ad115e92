"""The audit log: a surface says who acts, and the parts of the engine that change something record it."""
