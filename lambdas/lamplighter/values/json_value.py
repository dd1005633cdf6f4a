"""What a JSON document holds, as a type.

pydantic has the same one for models. To import it from there costs a function more than all of its own code.
"""

from typing import TypeAlias, Union

JsonValue: TypeAlias = Union["list[JsonValue]", "dict[str, JsonValue]", str, bool, int, float, None]
