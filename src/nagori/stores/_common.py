"""What engines share: the check of a vector at the door, and times as whole numbers."""

from __future__ import annotations

import math
from array import array
from datetime import timedelta

from nagori.core.model import EPOCH
from nagori.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_vector(data: bytes, dimension: int | None) -> int:
    """Its dimension; InvalidInput for a wrong one, for NaN and infinity, and for no direction at all."""
    if not isinstance(data, bytes) or not data or len(data) % 4:
        raise InvalidInput("vector", "not little-endian float32 bytes")
    numbers = array("f", data)
    if dimension is not None and len(numbers) != dimension:
        raise InvalidInput("vector", f"{len(numbers)} dimensions, but this model has {dimension}")
    if not all(map(math.isfinite, numbers)):
        raise InvalidInput("vector", "contains NaN or infinity")
    if not any(numbers):
        raise InvalidInput("vector", "is zero and points nowhere")
    return len(numbers)


def moment(count: int | None) -> Any:
    """The time of so many microseconds; Any, because a column that may be empty reads as one that is not."""
    return EPOCH + timedelta(microseconds=count) if count is not None else None
