"""Between model values and the JSON that stores keep.

Fields that are not known are passed over: a newer version may share the store. What users hand in is another matter and
is read strictly, where it comes in.
"""

import msgspec
from msgspec import Struct

from rota.model.events.configuration import Configuration, ConfigurationState
from rota.model.events.evaluation import Evaluation
from rota.model.events.event import Event
from rota.model.job import Ending, JobSpec, PastAttempt
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.model.schedules.schedule import Schedule, ScheduleState, Tick

_encoder = msgspec.json.Encoder()
encode = _encoder.encode
encode_lines = _encoder.encode_lines
"""Many records, each in a line of its own: there is no line end within JSON."""
decode_spec = msgspec.json.Decoder(JobSpec).decode
decode_ending = msgspec.json.Decoder(Ending).decode
decode_past = msgspec.json.Decoder(tuple[PastAttempt, ...]).decode
decode_log_entry = msgspec.json.Decoder(LogEntry).decode
decode_log_entries = msgspec.json.Decoder(list[LogEntry]).decode
decode_progress = msgspec.json.Decoder(Progress).decode
decode_job_type = msgspec.json.Decoder(JobType).decode
decode_node_type = msgspec.json.Decoder(NodeType).decode
decode_node = msgspec.json.Decoder(Node).decode
decode_schedule = msgspec.json.Decoder(Schedule).decode
decode_schedule_state = msgspec.json.Decoder(ScheduleState).decode
decode_tick = msgspec.json.Decoder(Tick).decode
decode_configuration = msgspec.json.Decoder(Configuration).decode
decode_configuration_state = msgspec.json.Decoder(ConfigurationState).decode
decode_evaluation = msgspec.json.Decoder(Evaluation).decode
decode_event = msgspec.json.Decoder(Event).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def encode_over(new: Struct, old: bytes | None) -> bytes:
    """A definition that takes the place of a stored one. Fields of the old one that this version does not know stay."""
    encoded = encode(new)
    try:
        fields = _decode_fields(old) if old else {}
    except msgspec.MsgspecError:
        return encoded  # what cannot be read is replaced whole
    unknown = {name: value for name, value in fields.items() if name not in new.__struct_fields__}
    return encode(_decode_fields(encoded) | unknown) if unknown else encoded
