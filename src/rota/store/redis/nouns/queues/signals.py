"""Signals for nodes that wait on a queue, in the lists that they wait on."""

from rota.model.job import node_of_token
from rota.store.contract.queues import Cancellation
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.link import Link


def push_signal(link: Link, list_key: str, item: str) -> None:
    """Wake whoever waits on a list."""
    link.run("tell_node", [list_key], [item])


def tell_to_cancel(link: Link, keys: QueueKeys, job_id: str, token: str) -> None:
    """Tell the node of a running job. A short cut: should it be lost, or the node be of an older version, which knows
    no tokens here, the node hears of the cancellation when it renews its claims."""
    node = node_of_token(token)
    link.run("tell_to_cancel", [keys.inbox(node), keys.pulses], [node, f"{job_id} {token}"])


def read_cancellation(item: str, node: str) -> Cancellation:
    """What `tell_to_cancel` put into the inbox of a node, or an older version, which put only the job's id there."""
    job_id, is_new, serial = item.rpartition(f" {node}/")
    return Cancellation(job_id, f"{node}/{serial}") if is_new else Cancellation(item)
