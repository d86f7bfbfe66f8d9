"""Makes up the recipe steps of the tutorial: `python docs/tutorial/make_data.py` writes `docs/tutorial/data`.

Every word of a sentence comes with its part of speech and its part of the recipe. Common words are drawn more often
than rare ones, so that the held-out sentences have words that training does not show.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

Token = tuple[str, str, str]
DATA = Path(__file__).parent / "data"
SIZES = {"train": 100, "dev": 60, "test": 60}


def words_of(text: str) -> list[str]:
    return text.split()


FOODS = words_of(
    """butter flour salt oil onions sugar water carrots cream potatoes milk garlic eggs tomatoes stock cheese rice
mushrooms parsley leeks honey dough beans celery thyme chicken lentils spinach apples yeast basil peas almonds ginger
walnuts pasta cabbage cocoa yoghurt fennel barley mustard turnips oats plums sage beetroot raisins vinegar pears
"""
)
COMPOUNDS = words_of(
    """olive_oil lemon_juice spring_onions bread_crumbs tomato_sauce egg_whites vegetable_stock vanilla_sugar
    orange_peel pumpkin_seeds coconut_milk"""
)
TOOLS = words_of(
    """pan bowl oven tin pot dish whisk spoon sieve lid tray board knife grater skillet casserole kettle fork
ladle jar"""
)
TOOL_ADJECTIVES = words_of("large small deep heavy clean dry shallow hot cold sharp wide")
FOOD_ADJECTIVES = words_of(
    """chopped grated fresh soft melted ripe sliced dried cold warm crushed peeled diced roasted toasted
salted drained whole pitted smoked"""
)
STATES = words_of("soft golden tender brown warm smooth crisp thick cold dry hot firm clear")
UNITS = words_of("g cups spoons ml slices litres")
SMALL_UNITS = words_of("pinch cup spoon slice handful knob jug drop")
NUMBERS = words_of("two three four six 12 five 20 eight 1/2 30")
MEASURES = words_of("200 100 two 50 three 250 1/2 150 20 75")
MINUTES = words_of("20 five ten 10 30 15 45 35 two 40 90")
ADVERBS = words_of("well gently slowly finely evenly quickly lightly thinly coarsely thoroughly")
# Verbs that take a food; many are names of foods, tools and units as well.
ON_FOOD = words_of(
    """chop add stir slice melt fry boil peel drain mix whisk mash dice rinse beat toast grate roast cool warm
season steam crush grill core simmer"""
)
# Verbs that take a tool or a dish.
ON_TOOL = words_of("heat butter oil cover flour grease wipe dry warm rinse water salt")
PREPOSITIONS = words_of("in into over with")


class Cook:
    """Draws sentences from one source of randomness."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def pick(self, words: Sequence[str]) -> str:
        """A word: those at the front more often."""
        return self.draw.choices(words, [1 / (rank + 10) for rank in range(len(words))])[0]

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def food(self, most: float = 0.5) -> list[Token]:
        words: list[tuple[str, str]] = []
        before: list[Token] = []
        kind = self.draw.random()
        if kind < 0.3 * most / 0.5:
            if self.chance(0.35):
                return [(self.pick(NUMBERS), "NUM", "B-AMOUNT"), *self.things()]
            if self.chance(0.55):
                before = [(self.pick(MEASURES), "NUM", "B-AMOUNT"), (self.pick(UNITS), "NOUN", "I-AMOUNT")]
            else:
                before = [("a", "DET", "O"), (self.pick(SMALL_UNITS), "NOUN", "B-AMOUNT")]
            before.append(("of", "ADP", "O"))
        elif kind < 0.75:
            before = [(self.pick(["the", "the", "some", "all"]), "DET", "O")]
        elif kind < 0.85:
            before = [("the", "DET", "O"), ("rest", "NOUN", "B-AMOUNT"), ("of", "ADP", "O"), ("the", "DET", "O")]
        if self.chance(0.4):
            words.append((self.pick(FOOD_ADJECTIVES), "ADJ"))
        names = self.pick(COMPOUNDS) if self.chance(0.18) else self.pick(FOODS)
        words += [(name, "NOUN") for name in names.split("_")]
        return before + self.segment(words, "FOOD")

    def things(self) -> list[Token]:
        """What one can count."""
        words = [(self.pick(FOOD_ADJECTIVES), "ADJ")] if self.chance(0.3) else []
        words.append((self.pick([food for food in FOODS if food.endswith("s")]), "NOUN"))
        return self.segment(words, "FOOD")

    def bare(self) -> list[Token]:
        words = [(self.pick(FOOD_ADJECTIVES), "ADJ")] if self.chance(0.2) else []
        return self.segment([*words, (self.pick(FOODS), "NOUN")], "FOOD")

    def tool(self) -> list[Token]:
        words = [(self.pick(TOOL_ADJECTIVES), "ADJ")] if self.chance(0.45) else []
        words.append((self.pick(TOOLS), "NOUN"))
        article = "the" if self.chance(0.6) else "an" if words[0][0][0] in "aeiou" else "a"
        return [(article, "DET", "O"), *self.segment(words, "TOOL")]

    def time(self) -> list[Token]:
        about = [("about", "ADV", "O")] if self.chance(0.25) else []
        words = [(self.pick(MINUTES), "NUM"), (self.pick(["minutes", "minutes", "hours"]), "NOUN")]
        if self.chance(0.15):
            words = [("an", "DET"), ("hour", "NOUN")]
        return [("for", "ADP", "O"), *about, *self.segment(words, "TIME")]

    def until(self) -> list[Token]:
        return [("until", "SCONJ", "O"), (self.pick(STATES), "ADJ", "O")]

    @staticmethod
    def segment(words: Sequence[tuple[str, str]], kind: str) -> list[Token]:
        return [(word, pos, f"{'I' if n else 'B'}-{kind}") for n, (word, pos) in enumerate(words)]

    def verb(self, verbs: Sequence[str]) -> list[Token]:
        how = [(self.pick(ADVERBS[1:]), "ADV", "O")] if self.chance(0.12) else []
        return [*how, (self.pick(verbs), "VERB", "O")]

    def clause(self) -> list[Token]:
        kind = self.draw.random()
        if kind < 0.15:
            second = [(",", "PUNCT", "O"), *self.bare()] if self.chance(0.6) else []
            return self.verb(ON_FOOD) + self.bare() + second + [("and", "CCONJ", "O")] + self.bare()
        if kind < 0.35:
            tail: list[Token] = []
            if self.chance(0.4):
                tail = [(self.pick(PREPOSITIONS), "ADP", "O"), *self.tool()]
            elif self.chance(0.4):
                tail = self.until()
            elif self.chance(0.4):
                tail = [(self.pick(ADVERBS), "ADV", "O")]
            return self.verb(ON_FOOD) + self.food() + tail
        if kind < 0.5:
            return self.verb(ON_FOOD) + self.food() + [("and", "CCONJ", "O")] + self.food(0.3)
        if kind < 0.7:
            tail = [("with", "ADP", "O"), *self.food(0.2)] if self.chance(0.5) else []
            return self.verb(ON_TOOL) + self.tool() + tail
        if kind < 0.8:
            return [("put", "VERB", "O"), *self.food(), ("in", "ADP", "O"), *self.tool()]
        if kind < 0.94:
            return self.verb(["cook", "bake", "simmer", "boil", "rest", "roast", "steam", "grill"]) + self.time()
        return [("keep", "VERB", "O"), (self.pick(STATES), "ADJ", "O"), *self.time()]

    def sentence(self) -> list[Token]:
        tokens = self.clause()
        if self.chance(0.45):
            joints = [[(",", "PUNCT", "O")], [("and", "CCONJ", "O")], [(",", "PUNCT", "O"), ("then", "ADV", "O")]]
            tokens += self.draw.choice(joints)
            tokens += self.clause()
        word, pos, part = tokens[0]
        return [(word.capitalize(), pos, part), *tokens[1:], (".", "PUNCT", "O")]


def write(name: str, sentences: Sequence[Sequence[Token]], columns: Callable[[Token], Sequence[str]]) -> None:
    text = "\n".join("".join(" ".join(columns(token)) + "\n" for token in sentence) for sentence in sentences)
    (DATA / name).write_text(text, encoding="utf-8")


def main() -> None:
    cook = Cook(seed=7)
    seen: set[str] = set()
    for name, size in SIZES.items():
        sentences: list[list[Token]] = []
        while len(sentences) < size:
            tokens = cook.sentence()
            text = " ".join(word for word, _, _ in tokens)
            if text not in seen and len(tokens) <= 18:
                seen.add(text)
                sentences.append(tokens)
        write(f"{name}.txt", sentences, lambda token: (token[0], token[2]))
        write(f"{name}-pos.txt", sentences, lambda token: token)
    (DATA / "foods.txt").write_text("\n".join(sorted(FOODS[:-6])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
