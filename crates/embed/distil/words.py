"""The words of the table: what the product's tokenizer makes of English and Chinese word lists."""

import json
import math
import re
import subprocess
from pathlib import Path
from statistics import median
from typing import NamedTuple

import sentencepieces

ENGLISH_ROWS = 26_000
CHINESE_ROWS = 20_000
"""Most frequent words kept of each language."""

CONTRACTIONS = """don't can't won't isn't aren't wasn't weren't hasn't haven't hadn't doesn't didn't couldn't shouldn't
wouldn't mustn't you're they're we're you've they've we've you'll they'll we'll he'll she'll it'll you'd they'd we'd
he'd she'd he's she's there's here's let's who's how's""".split()
CONTRACTION_SHARE = 2e-4
RARE = 1e-8
"""Share of a word of WordNet that no list counts."""


class Word(NamedTuple):
    key: str
    """The token: a stem, a Chinese word or character."""
    share: float
    """Of the words of running text."""
    form: str
    """As it is written: the most frequent word with this stem."""


def tokenise(texts: list[str]) -> list[list[tuple[str, str]]]:
    """The product's tokens of each text, with their kinds."""
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    command = ["cargo", "run", "--quiet", "--package", "hindsight-embed", "--example", "tokens"]
    done = subprocess.run(command, input=lines.encode(), stdout=subprocess.PIPE, check=True)
    return [[(token, kind) for token, kind in json.loads(line)] for line in done.stdout.decode().splitlines()]


def english(source: Path) -> list[Word]:
    shares = listed(source / "symspellpy/frequency_dictionary_en_82_765.txt", r"[a-z]{2,}")
    pieces = {piece[1:]: share for piece, share in sentencepieces.read(source).items() if piece[0] == "▁"}
    scale = ratio(shares, pieces)
    # The list is British; WordNet adds American and informal words, counted by the teacher's pieces.
    for lemma in lemmas(source) - shares.keys():
        shares[lemma] = pieces[lemma] * scale if lemma in pieces else RARE
    shares.update(dict.fromkeys(CONTRACTIONS, CONTRACTION_SHARE))
    return rows(shares, "Word")[:ENGLISH_ROWS]


def chinese(source: Path) -> list[Word]:
    han = r"[\u4e00-\u9fff]+"
    shares = listed(source / "jieba/dict.txt", han)
    pieces = {p.lstrip("▁"): share for p, share in sentencepieces.read(source).items()}
    pieces = {p: share for p, share in pieces.items() if re.fullmatch(han, p)}
    scale = ratio(shares, {p: share for p, share in pieces.items() if len(p) > 1})
    # The dictionary counts older newspapers, the pieces the web of today: the geometric mean of both.
    # A single character counts as a word of its own in the dictionary only.
    for piece, share in pieces.items():
        if piece not in shares:
            shares[piece] = share * scale
        elif len(piece) > 1:
            shares[piece] = math.sqrt(shares[piece] * share * scale)
    return rows(shares, "Han")[:CHINESE_ROWS]


def listed(path: Path, pattern: str) -> dict[str, float]:
    """Lines of `word count …`."""
    fields = (line.split() for line in path.read_text(encoding="utf-8-sig").splitlines())
    counts = {f[0]: int(f[1]) for f in fields if re.fullmatch(pattern, f[0])}
    total = sum(counts.values())
    return {word: count / total for word, count in counts.items()}


def ratio(shares: dict[str, float], pieces: dict[str, float]) -> float:
    """Pieces are counted over all languages of the teacher; this brings them to the scale of one."""
    return math.exp(median(math.log(shares[p] / share) for p, share in pieces.items() if p in shares))


def lemmas(source: Path) -> set[str]:
    lines = (line for kind in ("noun", "verb", "adj", "adv") for line in open(source / f"wordnet/index.{kind}"))
    return {word for line in lines if re.fullmatch(r"[a-z]{2,}", word := line.split(" ")[0])}


def rows(shares: dict[str, float], kind: str) -> list[Word]:
    """The words that are one token each, by falling share; words with one token are counted together."""
    forms = sorted(shares, key=lambda word: (-shares[word], word))
    words: dict[str, Word] = {}
    for form, tokens in zip(forms, tokenise(forms)):
        if len(tokens) == 1 and tokens[0][1] == kind:
            key = tokens[0][0]
            known = words.get(key, Word(key, 0.0, form))
            words[key] = known._replace(share=known.share + shares[form])
    return sorted(words.values(), key=lambda word: (-word.share, word.key))
