/// Words that carry grammar, not content. Deliberately short: negations (`not`, `不`, `没`) and words that
/// can be commands or states (`off`, `up`, `down`, `out`) stay searchable.
const ENGLISH: &[&str] = &[
    "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could",
    "did", "do", "does", "doing", "for", "from", "had", "has", "have", "having", "he", "her", "hers", "him",
    "his", "how", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "into", "is", "it", "it's", "its", "just",
    "me", "my", "of", "on", "or", "our", "ours", "she", "should", "so", "such", "than", "that", "that's",
    "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "to", "too", "us",
    "was", "we", "were", "what", "what's", "when", "where", "which", "while", "who", "whom", "why", "will",
    "with", "would", "you", "your", "yours",
];

const CHINESE: &[&str] = &[
    "一下", "一个", "与", "个", "为", "之", "也", "了", "于", "什么", "从", "他", "他们", "以", "以及", "会",
    "但", "但是", "你", "你们", "关于", "其", "到", "又", "及", "向", "吗", "吧", "呀", "呢", "和", "哦",
    "哪", "哪个", "哪些", "啊", "嗯", "因为", "在", "地", "她", "她们", "如果", "它", "它们", "对", "就",
    "并", "并且", "很", "得", "怎么", "我", "我们", "或", "所以", "把", "是", "有", "的", "的话", "着", "给",
    "而", "自己", "被", "要", "让", "请", "请问", "过", "还", "这", "这个", "这些", "那", "那个", "那些",
    "都",
];

/// Expects the word lower-cased.
pub fn is_stop_word(word: &str) -> bool {
    let list = if word.is_ascii() { ENGLISH } else { CHINESE };
    list.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_for_binary_search() {
        assert!(ENGLISH.is_sorted() && ENGLISH.iter().all(|word| word.is_ascii()));
        assert!(CHINESE.is_sorted() && !CHINESE.iter().any(|word| word.is_ascii()));
    }

    #[test]
    fn negations_and_states_are_content() {
        for word in ["not", "no", "down", "off", "不", "没", "没有", "无法"] {
            assert!(!is_stop_word(word), "{word}");
        }
        for word in ["the", "is", "的", "我们"] {
            assert!(is_stop_word(word), "{word}");
        }
    }
}
