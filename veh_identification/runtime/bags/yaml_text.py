"""metadata.yaml as rosbag2 writes it: plain YAML without comments, by libyaml where it is."""

from __future__ import annotations

from typing import Any

import yaml

#: The one entry of metadata.yaml.
INFORMATION = 'rosbag2_bagfile_information'
_Dumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


def dump_yaml(content: Any) -> str:
    """YAML text in block style, no line broken."""
    return str(yaml.dump(content, Dumper=_Dumper, default_flow_style=False, width=2**20))
