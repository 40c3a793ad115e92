"""Between model values and the JSON that stores keep."""

import msgspec

from rota.model.configuration import Configuration, ConfigurationState
from rota.model.evaluation import Evaluation
from rota.model.event import Event
from rota.model.job import Ending, JobSpec
from rota.model.job_type import JobType
from rota.model.log import LogEntry
from rota.model.node import Node, NodeType
from rota.model.schedule import Schedule, ScheduleState, Tick

encode = msgspec.json.Encoder().encode
decode_spec = msgspec.json.Decoder(JobSpec).decode
decode_ending = msgspec.json.Decoder(Ending).decode
decode_log_entry = msgspec.json.Decoder(LogEntry).decode
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
