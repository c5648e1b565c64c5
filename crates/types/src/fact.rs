use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::{MemoryId, Revision, Scope, SessionId, TenantId, Timestamp, UserId, Visibility};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum FactStatus {
    #[default]
    Open,
    Resolved,
    Obsolete,
}

impl FactStatus {
    pub const ALL: [Self; 3] = [Self::Open, Self::Resolved, Self::Obsolete];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
            Self::Obsolete => "obsolete",
        }
    }
}

/// What sort of thing a user said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum FactType {
    /// Likes, dislikes, habits, what must be avoided.
    Preference,
    /// Orders, bookings, invoices, refunds.
    Order,
    /// What someone undertook to do.
    Promise,
    /// Who the user is: name, home, work, family, health.
    Identity,
    /// What happened or will happen at a time.
    Event,
    #[default]
    Other,
}

impl FactType {
    pub const ALL: [Self; 6] =
        [Self::Preference, Self::Order, Self::Promise, Self::Identity, Self::Event, Self::Other];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Order => "order",
            Self::Promise => "promise",
            Self::Identity => "identity",
            Self::Event => "event",
            Self::Other => "other",
        }
    }
}

/// Something that belongs to a fact and is kept elsewhere: a picture, a document. It is named, never read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attachment {
    /// Absolute, of a scheme that `ingest::validate` accepts.
    pub uri: String,
    /// As in `image/png`. Empty: unknown.
    pub media_type: String,
    /// What it shows, in words; searched.
    pub caption: String,
}

/// What a user told an agent: a preference, an order, a promise. Always of one user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    pub id: MemoryId,
    /// `Visibility::User`.
    pub scope: Scope,
    /// Caller's key: the same key again replaces the fact. Empty: derived from the content.
    pub key: String,
    /// The statement, or its summary when `original` is there.
    pub content: String,
    /// The full text when `content` is a summary of it: found by search, never shown as the fact itself.
    pub original: String,
    /// What the caller says surrounded it: found by search, never shown as the fact itself.
    pub context: String,
    /// Turns before and after it in its session; kept up by the ingester while `context` is empty. Found by
    /// search, never shown as the fact itself.
    pub surroundings: String,
    pub speaker: String,
    pub session: Option<SessionId>,
    pub intent: String,
    pub fact_type: FactType,
    pub entities: Vec<String>,
    pub attachments: Vec<Attachment>,
    pub status: FactStatus,
    /// 0 to 1.
    pub confidence: f32,
    pub occurred_at: Timestamp,
    /// When it arrived, in microseconds; in a batch its place is added in nanoseconds. Tells the newer of two
    /// versions, and orders what was said at the same time.
    pub retained_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// When it was settled; `Some` exactly while it is `Resolved`.
    pub resolved_at: Option<Timestamp>,
    /// The newer fact that took its place, when that is why it is `Obsolete`.
    pub superseded_by: Option<MemoryId>,
    /// The last change of it. `None`: it is as it was said.
    pub revision: Option<Revision>,
}

impl Fact {
    /// A plain fact of `user` that arrived when it was said.
    pub fn new(tenant: &TenantId, user: UserId, key: &str, content: &str, occurred_at: Timestamp) -> Self {
        Self {
            id: MemoryId::fact(tenant, &user, key),
            scope: Scope::new(tenant.clone(), Visibility::User(user)),
            key: key.to_owned(),
            content: content.to_owned(),
            original: String::new(),
            context: String::new(),
            surroundings: String::new(),
            speaker: String::new(),
            session: None,
            intent: String::new(),
            fact_type: FactType::Other,
            entities: Vec::new(),
            attachments: Vec::new(),
            status: FactStatus::Open,
            confidence: 1.0,
            occurred_at,
            retained_at: occurred_at,
            expires_at: None,
            resolved_at: None,
            superseded_by: None,
            revision: None,
        }
    }

    /// Gives it another status at this time, with what goes with it. The time at which it was settled stays.
    pub fn set_status(&mut self, status: FactStatus, at: Timestamp) {
        self.status = status;
        self.resolved_at = (status == FactStatus::Resolved).then(|| self.resolved_at.unwrap_or(at));
        if status != FactStatus::Obsolete {
            self.superseded_by = None;
        }
    }

    /// Where it stands among what was said in its session.
    pub fn order(&self) -> (Timestamp, Timestamp, &str) {
        (self.occurred_at, self.retained_at, &self.key)
    }

    /// What it says, with who said it and what its attachments show.
    pub fn said(&self) -> String {
        let captions = self.attachments.iter().map(|a| a.caption.as_str());
        joined([self.speaker.as_str(), &self.content].into_iter().chain(captions))
    }

    /// What it says twice, so that it weighs more than what stands around it (measured on conversations: a
    /// turn is found far more often with its neighbours than without), then its context: what the caller
    /// gave, else when and in which session it was said and the turns beside it.
    pub(crate) fn indexed_text(&self) -> String {
        let said = self.said();
        let (when, session) =
            (in_words(self.occurred_at), self.session.as_ref().map_or("", SessionId::as_str));
        let context = match self.context.as_str() {
            "" => joined([when.as_str(), session, &self.surroundings]),
            given => given.to_owned(),
        };
        joined([said.as_str(), &said, &context, &self.original])
    }
}

fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A day of UTC as people ask for it: `Monday 8 May 2023 2023年5月8日 星期一`.
fn in_words(time: Timestamp) -> String {
    const DAYS: [&str; 7] = ["一", "二", "三", "四", "五", "六", "日"];
    let day = time.to_zoned_datetime(TimeZone::UTC);
    let weekday = usize::from(day.weekday().to_monday_zero_offset().unsigned_abs());
    let (year, month) = (day.year(), day.month());
    format!("{} {year}年{month}月{}日 星期{}", day.strftime("%A %-d %B %Y"), day.day(), DAYS[weekday])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact() -> Fact {
        let at: Timestamp = "2023-05-08T13:56:00Z".parse().unwrap();
        Fact::new(&TenantId::new("acme").unwrap(), UserId::new("ann").unwrap(), "k", "I like tea", at)
    }

    #[test]
    fn a_day_is_said_in_english_and_chinese() {
        assert_eq!(in_words(fact().occurred_at), "Monday 8 May 2023 2023年5月8日 星期一");
        assert_eq!(in_words(Timestamp::UNIX_EPOCH), "Thursday 1 January 1970 1970年1月1日 星期四");
        for end in [Timestamp::MIN, Timestamp::MAX] {
            assert!(in_words(end).contains("星期"));
        }
    }

    #[test]
    fn what_is_searched_is_said_twice_and_then_its_context() {
        let mut f = fact();
        f.speaker = "Ann".to_owned();
        f.session = Some(SessionId::new("s-1").unwrap());
        f.surroundings = "Bob: Tea or coffee?".to_owned();
        let photo = Attachment {
            uri: "https://example.com/1".into(),
            media_type: String::new(),
            caption: "a green cup".into(),
        };
        f.attachments = vec![photo];
        let said = "Ann\nI like tea\na green cup";
        let when = "Monday 8 May 2023 2023年5月8日 星期一";
        assert_eq!(f.indexed_text(), format!("{said}\n{said}\n{when}\ns-1\nBob: Tea or coffee?"));
        f.context = "at breakfast".to_owned();
        f.original = "Well, I like tea, you know".to_owned();
        assert_eq!(f.indexed_text(), format!("{said}\n{said}\nat breakfast\nWell, I like tea, you know"));
    }
}
