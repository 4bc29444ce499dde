"""The three-stage protocol: many searches, the best network with many seeds, random ones beside it."""

from dartboard.train.protocol.config import ProtocolConfig, load_protocol
from dartboard.train.protocol.findings import ProtocolResult
from dartboard.train.protocol.protocol import Protocol, reopen

__all__ = ["Protocol", "ProtocolConfig", "ProtocolResult", "load_protocol", "reopen"]
