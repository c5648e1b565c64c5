"""Makes the tiny rerankers beside this script, with random weights, and what they should say, computed here in
double precision from the published formulas: `pip install --no-deps numpy==2.4.6 tokenizers==0.22.1
safetensors==0.6.2 && python reference.py`."""

import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

HERE = Path(__file__).parent
WORDS = "disk full pod restart where is the 磁 盘 满 了 重 启".split()
PAIRS = [
    ("disk full", "the disk is full"),
    ("disk full", "pod restart"),
    ("磁盘满了", "disk"),
    ("where is the pod", ""),
    ("", "磁 盘"),
    ("pod", "disk " * 60),
    ("restart " * 60, "pod"),
]
TOKENS = 32
"""Longest input."""
SIZE, HEADS, INNER, LAYERS, VOCABULARY = 16, 2, 24, 2, 20
EPSILON = 1e-5


def main() -> None:
    write("bert", "bert", ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], 0, "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", 2)
    # Padding is token 1, and positions begin after it.
    template = "<s>:0 $A:0 </s>:0 </s>:0 $B:0 </s>:0"
    write("xlm-roberta", "roberta", ["<s>", "<pad>", "</s>", "<unk>"], 1, template, 1)


def write(kind: str, prefix: str, special: list[str], pad: int, template: str, types: int) -> None:
    folder = HERE / kind
    folder.mkdir(exist_ok=True)
    first = 0 if kind == "bert" else pad + 1
    weights = random_weights(kind, prefix, first + TOKENS, types)
    config = {
        "model_type": kind, "vocab_size": VOCABULARY, "hidden_size": SIZE, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "intermediate_size": INNER, "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": first + TOKENS, "type_vocab_size": types, "initializer_range": 0.02,
        "layer_norm_eps": EPSILON, "pad_token_id": pad, "position_embedding_type": "absolute",
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    tokenizer = tokenise(special, template)
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(weights, folder / "model.safetensors")
    tokenizer.enable_truncation(TOKENS)
    double = {name: value.astype(np.float64) for name, value in weights.items()}
    cases = []
    for query, text in PAIRS:
        encoded = tokenizer.encode(query, text)
        hidden = encode(double, prefix, encoded.ids, encoded.type_ids, first)
        logit = classify(double, kind, hidden[0])
        cases.append({"query": query, "text": text, "relevance": 1 / (1 + math.exp(-logit))})
    (folder / "expected.json").write_text(json.dumps(cases, ensure_ascii=False, indent=1) + "\n")


def random_weights(kind: str, prefix: str, positions: int, types: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(5)
    weights = {}

    def matrix(name: str, *shape: int) -> None:
        weights[name] = chance.normal(0, 0.4, shape).astype(np.float32)

    def linear(name: str, inputs: int, outputs: int) -> None:
        matrix(f"{name}.weight", outputs, inputs)
        matrix(f"{name}.bias", outputs)

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = (1 + chance.normal(0, 0.2, SIZE)).astype(np.float32)
        matrix(f"{name}.bias", SIZE)

    for name, rows in (("word", VOCABULARY), ("position", positions), ("token_type", types)):
        matrix(f"{prefix}.embeddings.{name}_embeddings.weight", rows, SIZE)
    norm(f"{prefix}.embeddings.LayerNorm")
    for at in range(LAYERS):
        layer = f"{prefix}.encoder.layer.{at}"
        for part in ("query", "key", "value"):
            linear(f"{layer}.attention.self.{part}", SIZE, SIZE)
        linear(f"{layer}.attention.output.dense", SIZE, SIZE)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", SIZE, INNER)
        linear(f"{layer}.output.dense", INNER, SIZE)
        norm(f"{layer}.output.LayerNorm")
    if kind == "bert":
        linear("bert.pooler.dense", SIZE, SIZE)
        linear("classifier", SIZE, 1)
    else:
        linear("classifier.dense", SIZE, SIZE)
        linear("classifier.out_proj", SIZE, 1)
    return weights


def encode(w: dict, prefix: str, ids: list[int], types: list[int], first: int) -> np.ndarray:
    """The encoder of "Attention Is All You Need" (2017), as in BERT (2018): norms after each sum."""
    table = lambda name: w[f"{prefix}.embeddings.{name}_embeddings.weight"]
    x = table("word")[ids] + table("position")[first : first + len(ids)] + table("token_type")[types]
    x = norm(w, f"{prefix}.embeddings.LayerNorm", x)
    for at in range(LAYERS):
        layer = f"{prefix}.encoder.layer.{at}"
        x = norm(w, f"{layer}.attention.output.LayerNorm", x + attend(w, f"{layer}.attention", x))
        inner = gelu(linear(w, f"{layer}.intermediate.dense", x))
        x = norm(w, f"{layer}.output.LayerNorm", x + linear(w, f"{layer}.output.dense", inner))
    return x


def attend(w: dict, name: str, x: np.ndarray) -> np.ndarray:
    heads = lambda part: linear(w, f"{name}.self.{part}", x).reshape(len(x), HEADS, -1).transpose(1, 0, 2)
    query, key, value = heads("query"), heads("key"), heads("value")
    scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(SIZE / HEADS))
    mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
    return linear(w, f"{name}.output.dense", mixed.transpose(1, 0, 2).reshape(len(x), SIZE))


def classify(w: dict, kind: str, first: np.ndarray) -> float:
    inner, outer = ("bert.pooler.dense", "classifier") if kind == "bert" else ("classifier.dense", "classifier.out_proj")
    return float(linear(w, outer, np.tanh(linear(w, inner, first)))[0])


def linear(w: dict, name: str, x: np.ndarray) -> np.ndarray:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def norm(w: dict, name: str, x: np.ndarray) -> np.ndarray:
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * w[f"{name}.weight"] + w[f"{name}.bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def tokenise(special: list[str], template: str) -> Tokenizer:
    words = {word: at for at, word in enumerate(special + WORDS)}
    unknown = next(word for word in special if "unk" in word.lower())
    tokenizer = Tokenizer(models.WordLevel(words, unknown))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    named = [(word, words[word]) for word in special if f"{word}:" in template]
    single = template.split(" $B")[0]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=template, special_tokens=named)
    return tokenizer


if __name__ == "__main__":
    main()
