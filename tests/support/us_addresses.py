"""Addresses in the style of the United States, composed at random: streets, boxes, crossings, buildings."""

from __future__ import annotations

import random

NAMES = (
    "Main", "Oak", "Washington", "Martin Luther King Jr", "3rd", "42nd", "Lake Shore", "County Road 12", "Broadway",
    "Saint Anne's", "Rue Dauphiné", "El Camino Real",
)  # fmt: skip
TYPES = ("St", "St.", "Ave", "Avenue", "Blvd", "Dr", "Ln", "Ct", "Pkwy", "Way", "", "Hwy")
DIRECTIONS = ("", "", "N", "S.", "West", "NE")
ROOMS = ("", "", "Apt {}", "Apt. {}B", "# {}", "Suite {}", "Unit {}", "Fl {}", "Rm {}")
TOWNS = ("Chicago", "St. Louis", "New York", "San José", "Winston-Salem", "Truth or Consequences", "Boise")
STATES = ("IL", "MO", "NY", "CA", "NC", "New Mexico", "ID", "")
BUILDINGS = ("Attn: J. Smith", "The Willis Tower", "ACME Inc. (HQ)", "c/o Mary O’Neil")


def addresses(num: int, seed: int = 0) -> list[str]:
    """`num` addresses; the same for the same seed."""
    chance = random.Random(seed)
    pick = chance.choice

    def number() -> str:
        n = chance.randrange(1, 9999)
        return pick((str(n), f"{n % 99}-{n // 99}", f"{n} 1/2", f"{n % 100}A"))

    def street() -> str:
        return " ".join(filter(None, (pick(DIRECTIONS), pick(NAMES), pick(TYPES), pick(DIRECTIONS))))

    def place() -> str:
        code = str(chance.randrange(10_000, 99_999))
        return f"{pick(TOWNS)}, {pick(STATES)} {pick((code, f'{code}-{chance.randrange(1000, 9999)}', ''))}"

    def address() -> str:
        kind = chance.randrange(10)
        if kind == 6:
            return f"P.O. Box {chance.randrange(9999)}, {place()}"
        if kind == 7:
            return f"{street()} and {street()}, {place()}"
        if kind == 8:
            return f"{pick(BUILDINGS)}, {number()} {street()}; {place()}"
        room = pick(ROOMS).format(chance.randrange(1, 400))
        return f"{number()} {street()}{pick((',', ''))} {room}{pick((', ', ' '))}{place()}"

    return [pick((str, str, str.upper, str.lower))(address()) for _ in range(num)]
