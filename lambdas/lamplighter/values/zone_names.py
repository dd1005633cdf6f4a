"""What people mean by a time zone that is no city: abbreviations, offsets, and fixed zones of the IANA list."""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lamplighter.values import zones

EXAMPLE = "Asia/Seoul"
_ABBREVIATIONS: Mapping[str, str] = {
    "Africa/Johannesburg": "sast",
    "Africa/Lagos": "wat",
    "Africa/Nairobi": "eat",
    "America/Anchorage": "akt akst akdt",
    "America/Chicago": "ct cst cdt",
    "America/Denver": "mt mdt",
    "America/Halifax": "adt",
    "America/Los_Angeles": "pt pst pdt",
    "America/New_York": "et edt",
    "America/Sao_Paulo": "brt",
    "Asia/Bangkok": "ict",
    "Asia/Dubai": "gst",
    "Asia/Hong_Kong": "hkt",
    "Asia/Jakarta": "wib",
    "Asia/Jerusalem": "ist idt",
    "Asia/Karachi": "pkt",
    "Asia/Kolkata": "ist",
    "Asia/Manila": "pht",
    "Asia/Seoul": "kst",
    "Asia/Shanghai": "cst",
    "Asia/Singapore": "sgt",
    "Asia/Tokyo": "jst",
    "Australia/Adelaide": "acst acdt",
    "Australia/Perth": "awst",
    "Australia/Sydney": "aest aedt",
    "Europe/Berlin": "cest mez mesz",
    "Europe/Dublin": "ist",
    "Europe/Helsinki": "eest",
    "Europe/Lisbon": "west",
    "Europe/London": "bst",
    "Europe/Moscow": "msk",
    "Pacific/Auckland": "nzt nzst nzdt",
}
_CITIES = {
    -10: "Pacific/Honolulu", -9: "America/Anchorage", -8: "America/Los_Angeles", -7: "America/Denver",
    -6: "America/Chicago", -5: "America/New_York", -4: "America/Halifax", -3: "America/Sao_Paulo",
    0: "Europe/London", 1: "Europe/Berlin", 2: "Europe/Helsinki", 3: "Africa/Nairobi", 4: "Asia/Dubai",
    5: "Asia/Karachi", 5.5: "Asia/Kolkata", 7: "Asia/Bangkok", 8: "Asia/Singapore", 9: "Asia/Seoul",
    10: "Australia/Sydney", 12: "Pacific/Auckland",
}  # fmt: skip
"""A well-known city by its hours from UTC in winter."""
_FIXED = {"EST": (-5, "America/New_York"), "MST": (-7, "America/Denver"), "HST": (-10, "Pacific/Honolulu")}
_OFFSET = re.compile(r"(?:utc|gmt)? ?([+-]) ?(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)
_ETC = re.compile(r"(?:Etc/)?GMT([+-])(\d{1,2})")
_SIMILAR = 0.75


def meant(name: str) -> Sequence[str]:
    """The cities whose zone a wrong name means; an example where nothing is like it."""
    cities = [city for city, words in _ABBREVIATIONS.items() if name.lower() in words.split()]
    return cities or _by_offset(name) or _by_case(name) or _by_city(name) or [EXAMPLE]


class FixedZone(NamedTuple):
    """A zone of the list that never has summer time, by its hours from UTC."""

    hours: int
    cities: Mapping[str, int | None]
    """The cities that people mean by it, with their hours in winter where there are two."""
    reversed: bool
    """Its name has the opposite sign."""


def fixed(name: str) -> FixedZone | None:
    """A zone that people take for one with summer time, or for its opposite; None for any other."""
    if name in _FIXED:
        hours, city = _FIXED[name]
        return FixedZone(hours, {city: None}, reversed=False)
    matched = _ETC.fullmatch(name)
    if matched is None or int(matched[2]) == 0:
        return None
    hours = int(matched[2]) * (-1 if matched[1] == "+" else 1)
    return FixedZone(hours, {_CITIES[by]: by for by in (hours, -hours) if by in _CITIES}, reversed=True)


def _by_offset(name: str) -> list[str]:
    matched = _OFFSET.fullmatch(name)
    if matched is None:
        return []
    hours = int(matched[2]) + int(matched[3] or 0) / 60
    city = _CITIES.get(-hours if matched[1] == "-" else hours)
    return [city] if city else []


def _by_case(name: str) -> list[str]:
    return [zone for zone in zones.names() if zone.lower() == name.lower()]


def _by_city(name: str) -> list[str]:
    """By the whole name or its last part, among names with a place."""
    known = [
        zone for zone in sorted(zones.names()) if "/" in zone and not zone.startswith(("Etc/", "SystemV/"))
    ]
    wrong = name.lower().replace(" ", "_")
    by_name = {zone.rpartition("/")[2].lower(): zone for zone in known} | {
        zone.lower(): zone for zone in known
    }
    similar = difflib.get_close_matches(wrong, by_name, n=1, cutoff=_SIMILAR)
    return [by_name[similar[0]]] if similar else []
