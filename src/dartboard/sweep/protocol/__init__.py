"""The three-stage protocol: many searches, the best network with many seeds, random ones beside it."""

from dartboard.sweep.protocol.config import ProtocolConfig, load_protocol
from dartboard.sweep.protocol.protocol import Protocol, ProtocolResult, reopen

__all__ = ["Protocol", "ProtocolConfig", "ProtocolResult", "load_protocol", "reopen"]
