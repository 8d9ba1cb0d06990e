"""The types of the API's options say what the systems declare."""

from typing import Any

from veh_identification import api_options
from veh_identification.cli.api_options import options_text


def told(options: Any) -> dict[str, str]:
    kinds = options.__annotations__.items()
    return {name: ''.join(kind.__forward_arg__.split()).strip('()') for name, kind in kinds}


def test_the_types_are_fresh() -> None:
    fresh: dict[str, Any] = {}
    exec(options_text(), fresh)
    names = {name for name, value in fresh.items() if hasattr(value, '__total__')}
    assert names == {
        name for name in vars(api_options) if hasattr(getattr(api_options, name), '__total__')
    }
    for name in names:
        assert told(getattr(api_options, name)) == told(fresh[name]), f'{name}: run `make docs`'
