//! Phrases that say nothing to remember. Not among them: yes, no and sure, which answer a question, and
//! whatever undertakes something or names a time.

use std::{collections::HashMap, sync::LazyLock};

use super::gate::Trivial;

/// By phrase; English words are joined by one space.
pub(super) static PHRASES: LazyLock<HashMap<&str, Trivial>> = LazyLock::new(|| {
    let lists = [
        (Trivial::Greeting, GREETINGS),
        (Trivial::Thanks, THANKS),
        (Trivial::Acknowledgement, ACKNOWLEDGEMENTS),
        (Trivial::Filler, FILLERS),
    ];
    let phrases = |(kind, list): (Trivial, &'static str)| list.split('|').map(move |p| (p.trim(), kind));
    lists.into_iter().flat_map(phrases).collect()
});

const GREETINGS: &str = "\
    hi|hello|hey|heya|hiya|howdy|yo|greetings|hi there|hello there|hey there|hi all|hello all|
    hi everyone|hello everyone|hey everyone|hi guys|hey guys|good morning|good afternoon|good evening|
    good day|good night|goodnight|how are you|how are you doing|how are you doing today|
    how are you today|how have you been|how's it going|how is it going|how are things|how's everything|
    what's up|whats up|sup|wassup|long time no see|nice to meet you|nice to see you|good to see you|
    great to see you|nice to hear from you|good to hear from you|great to hear from you|welcome|
    welcome back|bye|goodbye|good bye|bye bye|see you|see ya|see you later|see you soon|see you around|
    talk to you later|talk to you soon|talk soon|talk later|catch you later|ttyl|take care|
    have a nice day|have a good day|have a great day|have a good one|have a great one|
    have a nice weekend|have a good weekend|have a great weekend|farewell|
    你好|您好|你们好|大家好|嗨|嘿|哈喽|哈啰|哈罗|早|早安|早上好|上午好|中午好|下午好|晚上好|晚安|在吗|
    在么|好久不见|很高兴认识你|很高兴认识您|很高兴见到你|最近怎么样|最近好吗|你好吗|您好吗|再见|拜|拜拜|
    回见|回头见|回头聊|改天聊|下次聊|下次见|保重|周末愉快|祝你愉快|祝您愉快|祝您生活愉快|欢迎|欢迎回来|
    喂";

const THANKS: &str = "\
    thanks|thank you|thank you so much|thank you very much|thanks a lot|thanks so much|thanks again|
    thank you again|many thanks|thx|ty|tysm|cheers|much appreciated|appreciate it|i appreciate it|
    i really appreciate it|you're welcome|youre welcome|you are welcome|no problem|no worries|np|
    my pleasure|don't mention it|anytime|glad to help|happy to help|glad i could help|that helps|
    that's helpful|very helpful|
    谢谢|谢谢你|谢谢您|谢谢大家|谢谢啦|谢啦|谢了|多谢|感谢|非常感谢|十分感谢|太感谢了|感谢你|感谢您|
    谢谢你的帮助|谢谢您的帮助|感谢你的帮助|感谢您的帮助|辛苦了|辛苦啦|麻烦你了|麻烦您了|不客气|不用谢|
    不用客气|不谢|别客气|应该的|帮了大忙";

const ACKNOWLEDGEMENTS: &str = "\
    ok|okay|okey|k|kk|got it|i got it|gotcha|understood|i understand|i see|makes sense|that makes sense|
    sounds good|sounds great|that sounds good|that sounds great|all right|alright|fair enough|noted|
    roger|copy that|great|good|nice|cool|awesome|perfect|excellent|wonderful|amazing|fantastic|
    brilliant|lovely|well done|good job|great job|nice work|good work|great work|good idea|great idea|
    good point|good to know|wow|that's great|that's good|that's nice|that's cool|that's so cool|
    that's awesome|that's amazing|that's wonderful|that's fantastic|that is great|very good|very nice|
    so cool|yay|
    好|好的|好吧|好呀|好啊|好哒|好滴|好嘞|好哦|收到|明白|明白了|我明白|我明白了|知道了|我知道了|了解|
    了解了|懂了|我懂了|原来如此|原来是这样|这样啊|真棒|太棒了|太好了|不错|很好|非常好|棒|赞|点赞|厉害|
    真厉害|太厉害了|哇|哇塞|加油";

/// Among them letters that are left of faces such as `:D`.
const FILLERS: &str = "\
    um|uh|uhm|er|erm|hm|hmm|mm|mhm|uh huh|oh|ah|aha|ha|oops|whoops|lol|lmao|rofl|let me see|
    let me think|one moment|one sec|just a sec|just a moment|hold on|you know|i mean|well|so|anyway|and|
    very much|a lot|for your help|for the help|for your time|for everything|for letting me know|
    for the info|for the update|for the quick reply|for the reply|d|p|xd|o|
    嗯|哦|噢|喔|啊|呀|呢|吧|嘛|啦|哈|呵|嘻|呃|额|哎|唉|诶|哟|咦|稍等|等一下|等下|等等|我想想|让我想想|
    怎么说呢|然后|那";
