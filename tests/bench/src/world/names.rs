//! The names and numbers of one task: other ones each time.

use rand::{Rng, seq::IndexedRandom};

const SERVICES: [&str; 20] = [
    "checkout", "payments", "search", "basket", "invoices", "profiles", "catalog", "shipping", "ledger",
    "media", "gateway", "mailer", "reviews", "pricing", "stock", "tickets", "sessions", "exports", "uploads",
    "quotes",
];
const ROLES: [&str; 6] = ["api", "worker", "web", "svc", "core", "sync"];
const SPACES: [&str; 6] = ["shop", "billing", "core", "platform", "growth", "data"];
const TABLES: [&str; 6] = ["orders", "events", "payments_log", "audit", "items", "sessions_log"];
const MEMORY: [&str; 4] = ["512m", "768m", "1g", "2g"];
const MOUNTS: [&str; 4] = ["/data", "/var/lib/app", "/srv/store", "/mnt/volume1"];

/// Name in a text → what stands for it in this task.
type Name = (&'static str, String);

#[derive(Debug, Clone)]
pub(crate) struct Names(Vec<Name>);

impl Names {
    pub(crate) fn draw(rng: &mut impl Rng) -> Self {
        let service = format!("{}-{}", one(rng, &SERVICES), one(rng, &ROLES));
        let other = format!("{}-{}", one(rng, &SERVICES), one(rng, &ROLES));
        let tail = hex(rng);
        let pod = format!("{service}-{}-{}", hex(rng), &tail[..5]);
        let kind = one(rng, &SERVICES);
        let mut names = Self(vec![
            ("svc", service),
            ("dep", other),
            ("pod", pod),
            ("ns", one(rng, &SPACES).to_owned()),
            ("net", format!("{}_default", one(rng, &SPACES))),
            ("id", hex(rng)),
            ("sha", hex(rng)),
            ("vol", format!("vol-0{}", hex(rng))),
            (
                "ver",
                format!("{}.{}.{}", rng.random_range(1..9), rng.random_range(0..30), rng.random_range(0..9)),
            ),
            ("node", format!("node-{}", rng.random_range(1..60))),
            ("host", format!("srv-{}", rng.random_range(10..99))),
            ("mnt", one(rng, &MOUNTS).to_owned()),
            ("db", format!("{kind}_{}", one(rng, &["prod", "main", "eu", "live"]))),
            ("dbh", format!("pg-{kind}-{}", rng.random_range(1..9))),
            ("table", one(rng, &TABLES).to_owned()),
            ("mem", one(rng, &MEMORY).to_owned()),
            ("pid", rng.random_range(1_000..60_000).to_string()),
        ]);
        names.0.extend(numbers(rng));
        names
    }

    /// A text of the catalogue with the names of this task.
    pub(crate) fn fill(&self, text: &str) -> String {
        fill(text, &self.0)
    }

    /// The same with numbers of its own, as each look at a clock or a counter shows another one.
    pub(crate) fn fill_anew(&self, text: &str, rng: &mut impl Rng) -> String {
        self.fill(&fill(text, &numbers(rng)))
    }
}

fn fill(text: &str, names: &[Name]) -> String {
    names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

fn numbers(rng: &mut impl Rng) -> [Name; 5] {
    [
        ("few", rng.random_range(2..9).to_string()),
        ("sec", rng.random_range(12..59).to_string()),
        ("many", rng.random_range(100..900).to_string()),
        ("hh", format!("{:02}", rng.random_range(0..24))),
        ("mm", format!("{:02}", rng.random_range(0..60))),
    ]
}

fn one(rng: &mut impl Rng, list: &[&'static str]) -> &'static str {
    list.choose(rng).copied().unwrap_or_default()
}

fn hex(rng: &mut impl Rng) -> String {
    format!("{:07x}", rng.random::<u32>() >> 4)
}
