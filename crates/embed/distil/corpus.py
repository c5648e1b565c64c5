"""Texts on which the teacher is asked: WordNet's examples and definitions, and random Chinese phrases."""

import bisect
import itertools
import random
import re
from pathlib import Path

from words import Word

DEFINITIONS = 45_000
PHRASES = 30_000
MIXED = 5_000
"""Phrases with words of both languages in turn."""
FLATTENED = 0.6
"""Power of a word's share by which it is drawn: rarer words come often enough to be learned."""


def texts(source: Path, english: list[Word], chinese: list[Word]) -> list[str]:
    chance = random.Random(7)
    examples, definitions = glosses(source)
    definitions.sort(key=lambda _: chance.random())
    draw_chinese, draw_english = drawer(chinese, chance), drawer(english, chance)
    length = lambda: 2 + int(chance.random() * 5)
    phrases = ["".join(draw_chinese() for _ in range(length())) for _ in range(PHRASES)]
    mixed = [" ".join(f"{draw_chinese()} {draw_english()}" for _ in range(length())) for _ in range(MIXED)]
    # Like lengths stand apart, so that any prefix is a sample.
    all_texts = examples + definitions[:DEFINITIONS] + phrases + mixed
    all_texts.sort(key=lambda _: chance.random())
    return all_texts


def glosses(source: Path) -> tuple[list[str], list[str]]:
    examples, definitions = [], []
    for kind in ("noun", "verb", "adj", "adv"):
        for line in open(source / f"wordnet/data.{kind}"):
            if "|" not in line:
                continue
            gloss = line.split("|", 1)[1].strip()
            examples += [e for e in re.findall(r'"([^"]+)"', gloss) if 4 <= len(e.split()) <= 20]
            definition = gloss.split('"')[0].split(";")[0].strip()
            if 4 <= len(definition.split()) <= 16:
                definitions.append(definition)
    return examples, definitions


def drawer(words: list[Word], chance: random.Random):
    ends = list(itertools.accumulate(word.share**FLATTENED for word in words))
    return lambda: words[bisect.bisect(ends, chance.random() * ends[-1])].form
