"""Xid numbers in logs, conditions and events, and the lines of a log since an instant.

Owns where a line begins and ends, and when it was written. errors.py says what an Xid means.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

# Not SXid, which is a number of an NVSwitch.
_XID = re.compile(r"XidCriticalError: Xid=(\d{1,4})|\bXid \(PCI:[^)\s]{1,40}\): (\d{1,4})")
_CONDITION_XID = re.compile(r"NvidiaXID(\d{1,4})(?:Error|Warning)?")
_KLOG = re.compile(r"[IWEF](\d{2})(\d{2}) (\d{2}):(\d{2}):(\d{2})")
#: Characters of a line before its first Xid, and from each on: a log is not ours, and one line may be all of it.
_LONGEST = 1000
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?")


def xids(log: str, now: datetime, since: datetime) -> Iterator[tuple[int, str]]:
    """XIDs in a log, with their lines; of a line with several, each with its own part."""
    if "Xid" not in log:
        return
    for line in log_lines(log, _XID, now, since):
        found = list(_XID.finditer(line))
        begin = max(0, found[0].start() - _LONGEST)
        for match, end in zip(found, [*(later.start() for later in found[1:]), len(line)], strict=True):
            yield int(match[1] or match[2]), line[begin : min(end, match.start() + _LONGEST)].strip()
            begin = end


def sxid(log: str, now: datetime, since: datetime) -> str:
    """The first line with an SXid, the number of an NVSwitch's error; "" where there is none."""
    lines = (line.strip() for line in log.splitlines() if "SXid (PCI:" in line)
    return next((line for line in lines if (at := _stamped(line, now)) is None or at >= since), "")


def condition_xid(code: str) -> int | None:
    """The XID that the `reason` of a node condition or event names."""
    match = _CONDITION_XID.search(code)
    return int(match[1]) if match else None


def log_lines(printed: str, pattern: re.Pattern[str], now: datetime, since: datetime) -> Iterator[str]:
    """Lines in which the pattern occurs, except those whose time stamp is before `since`."""
    at = 0
    while match := pattern.search(printed, at):
        begin, end = around(printed, match.start(), match.end())
        line = printed[begin:end].strip()
        stamp = _stamped(line, now)
        if stamp is None or stamp >= since:
            yield line
        at = end


def around(printed: str, first: int, last: int) -> tuple[int, int]:
    """Where the line or lines that contain these positions begin and end."""
    end = printed.find("\n", last)
    return printed.rfind("\n", 0, first) + 1, len(printed) if end == -1 else end


def _stamped(line: str, now: datetime) -> datetime | None:
    """The time stamp of a line, in klog's form (no year, UTC) or RFC 3339; None where it has none."""
    if match := _STAMP.match(line):
        try:
            return datetime.fromisoformat(match[1] + (match[2] or "Z")).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
    match = _KLOG.match(line)
    if not match:
        return None
    month, day, hour, minute, second = (int(part) for part in match.groups())
    try:
        read = datetime(now.year, month, day, hour, minute, second, tzinfo=UTC)
        # In January, a line of December is from the year before.
        return read.replace(year=now.year - 1) if read - now > timedelta(days=1) else read
    except ValueError:
        return None
