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
    "的", "了", "是", "在", "和", "与", "及", "或", "就", "都", "而", "也", "还", "又", "很", "这", "那",
    "这个", "那个", "这些", "那些", "我", "你", "他", "她", "它", "我们", "你们", "他们", "她们", "它们",
    "自己", "吗", "呢", "吧", "啊", "呀", "哦", "嗯", "着", "过", "地", "得", "之", "其", "于", "被", "把",
    "给", "让", "对", "从", "向", "到", "以", "为", "因为", "所以", "但是", "但", "如果", "什么", "怎么",
    "哪", "哪个", "哪些", "一个", "个", "有", "会", "要", "请", "请问", "关于", "以及", "并", "并且", "的话",
    "一下",
];

/// Expects the word lower-cased.
pub fn is_stop_word(word: &str) -> bool {
    ENGLISH.binary_search(&word).is_ok() || CHINESE.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_english_list_is_sorted_for_binary_search() {
        assert!(ENGLISH.is_sorted());
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
