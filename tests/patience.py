"""How long tests wait for what comes within moments on any machine that is not stuck: only a guard against hanging."""

import os

DEADLINE_S = float(os.environ.get("ROTA_TEST_PATIENCE_S", "300"))
"""For what happens in the process of the test. Whoever expects tests to fail has less patience."""
LONG_DEADLINE_S = min(300.0, 4 * DEADLINE_S)
"""For other processes, browsers and brokers, which have to start, and to be missed."""
