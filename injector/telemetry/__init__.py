"""What a running injector tells about itself: `metrics` and `logs`, both made to cost a request little."""

from injector.telemetry.logs import LogOutput, make_logger, send_logs_to, where_it_failed
from injector.telemetry.metrics import EXPOSITION_TYPE, Cell, Metrics

__all__ = ["EXPOSITION_TYPE", "Cell", "LogOutput", "Metrics", "make_logger", "send_logs_to", "where_it_failed"]
