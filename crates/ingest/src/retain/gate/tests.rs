use Trivial::{Acknowledgement, Filler, Greeting, NoWords, Thanks};
use hindsight_types::{Attachment, TenantId, Timestamp, UserId};
use proptest::prelude::*;

use super::*;

fn fact(content: &str) -> Fact {
    let tenant = TenantId::new("acme").unwrap();
    Fact::new(&tenant, UserId::new("ann").unwrap(), "", content, Timestamp::UNIX_EPOCH)
}

#[test]
fn talk_without_content_is_told_by_its_kind() {
    for (text, kind) in [
        ("Hi there!", Greeting),
        ("Hey! How are you doing today?", Greeting),
        ("Good night 😴, see you later", Greeting),
        ("Thanks!", Thanks),
        ("ok, thank you so much 🙏", Thanks),
        ("You’re welcome :D", Thanks),
        ("Thanks for letting me know!", Thanks),
        ("OK", Acknowledgement),
        ("Okayyy... got it.", Acknowledgement),
        ("Wow, that's amazing!", Acknowledgement),
        ("Hmmmm", Filler),
        ("hahaha lol XD", Filler),
        ("👍👍", NoWords),
        ("?!…", NoWords),
        ("你好", Greeting),
        ("早上好，在吗？", Greeting),
        ("好的，谢谢您！", Thanks),
        ("辛苦了~ 😊", Thanks),
        ("嗯嗯，明白了", Acknowledgement),
        ("哈哈哈哈", Filler),
        ("ok，收到", Acknowledgement),
    ] {
        assert_eq!(gate(&fact(text)), Some(kind), "{text}");
    }
}

#[test]
fn whatever_says_something_is_kept() {
    for text in [
        "Hi, I'm Ann",
        "Hey Mel!",
        "Thanks, the table for 4 is fine",
        "OK, 5pm",
        "Yes",
        "No, never",
        "Sure!",
        "Will do",
        "See you tomorrow",
        "Do you remember my name?",
        "good coffee",
        "I like it",
        "great, but too expensive",
        "not good",
        "Merci beaucoup",
        "Спасибо",
        "42",
        "好的，明天见",
        "好的，我订周五的",
        "是的",
        "不",
        "没有",
        "你好，我叫李雷",
        "谢谢，不要香菜",
        "好吃",
        "我对花生过敏",
        "记得我的生日吗",
        "ok 第3个",
        "ありがとう",
    ] {
        assert_eq!(gate(&fact(text)), None, "{text}");
    }
}

#[test]
fn what_the_caller_describes_is_kept() {
    let described: [fn(&mut Fact); 5] = [
        |f| f.key = "mood".to_owned(),
        |f| f.intent = "confirmation".to_owned(),
        |f| f.fact_type = FactType::Promise,
        |f| f.entities = vec!["INV-1".to_owned()],
        |f| {
            let (uri, caption) = ("https://example.com/1.png".to_owned(), String::new());
            f.attachments = vec![Attachment { uri, media_type: String::new(), caption }];
        },
    ];
    for describe in described {
        let mut f = fact("ok");
        describe(&mut f);
        assert_eq!(gate(&f), None);
    }
}

proptest! {
    #[test]
    fn a_number_or_an_unknown_word_is_always_kept(
        before in "(hi|thanks|ok|你好|谢谢|好的|👍)?", said in "[0-9]{1,4}|[bcfgj]{3,8}|[你好谢]花", after in "(!|bye|再见)?",
    ) {
        prop_assert_eq!(trivial(&format!("{before} {said} {after}")), None);
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}") {
        if let Some(kind) = trivial(&text) {
            prop_assert!(!text.chars().any(|c| c.is_numeric()), "{:?} {:?}", kind, text);
        }
    }
}
