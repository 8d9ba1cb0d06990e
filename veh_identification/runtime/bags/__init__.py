"""Recordings: reading, writing, and columns of numbers from them."""

from veh_identification.runtime.bags.columns import Columns, columns_of, read_columns
from veh_identification.runtime.bags.cutting import write_stretch
from veh_identification.runtime.bags.info import BagInfo, TopicInfo
from veh_identification.runtime.bags.joints import named_joints
from veh_identification.runtime.bags.progress import Progress
from veh_identification.runtime.bags.reader import BagReader
from veh_identification.runtime.bags.records import DecodedMessage, RawMessage
from veh_identification.runtime.bags.writer import BagWriter

__all__ = [
    'BagInfo',
    'BagReader',
    'BagWriter',
    'Columns',
    'DecodedMessage',
    'Progress',
    'RawMessage',
    'TopicInfo',
    'columns_of',
    'named_joints',
    'read_columns',
    'write_stretch',
]
