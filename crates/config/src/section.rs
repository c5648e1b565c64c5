use std::{fmt::Display, ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration};

use figment::{
    Figment, Source,
    value::{Dict, Value},
};

use secrecy::SecretString;

use crate::{Mistake, load::required};

/// What reading has turned up.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) mistakes: Vec<Mistake>,
    /// Keys that mean nothing, or nothing here.
    pub(crate) unused: Vec<Mistake>,
    /// What is not on this machine. Only a check complains: not every process needs all of it.
    pub(crate) absent: Vec<Mistake>,
}

/// A table of settings. Every key that is asked for is a known one; [`Section::finish`] reports the rest.
pub(crate) struct Section<'a> {
    figment: &'a Figment,
    path: String,
    origin: String,
    values: Dict,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    pub(crate) fn root(figment: &'a Figment, values: Dict) -> Self {
        Self { figment, path: String::new(), origin: String::new(), values, known: Vec::new() }
    }

    pub(crate) fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Where a key was set; where its table comes from when it was not.
    pub(crate) fn origin(&self, name: &str) -> String {
        self.values.get(name).map_or_else(|| self.origin.clone(), |v| self.origin_of(v))
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub(crate) fn mistake(&self, name: &str, problem: impl Into<String>) -> Mistake {
        Mistake { key: self.key(name), origin: self.origin(name), problem: problem.into() }
    }

    fn origin_of(&self, value: &Value) -> String {
        let Some(metadata) = self.figment.get_metadata(value.tag()) else { return self.origin.clone() };
        match &metadata.source {
            Some(Source::File(path)) => path.display().to_string(),
            _ => metadata.name.to_string(),
        }
    }

    /// Environment and flags know only words; a file knows types and is held to them.
    fn is_text(&self, value: &Value) -> bool {
        let metadata = self.figment.get_metadata(value.tag());
        metadata.is_some_and(|m| !matches!(m.source, Some(Source::File(_))))
    }

    fn take<T>(
        &mut self,
        name: &'static str,
        findings: &mut Findings,
        read: impl FnOnce(&Value, bool) -> Result<T, String>,
    ) -> Option<T> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        let value = self.values.get(name)?;
        match read(value, self.is_text(value)) {
            Ok(value) => Some(value),
            Err(problem) => {
                findings.mistakes.push(self.mistake(name, problem));
                None
            }
        }
    }

    /// A table within this one; an empty one when there is none.
    pub(crate) fn section(&mut self, name: &'static str, findings: &mut Findings) -> Section<'a> {
        let table = self.take(name, findings, |value, _| {
            let dict = value.as_dict().cloned();
            dict.ok_or_else(|| format!("is {}; make it a table, [{name}]", describe(value)))
        });
        let (path, origin) = (self.key(name), self.origin(name));
        let values = table.unwrap_or_default();
        Section { figment: self.figment, path, origin, values, known: Vec::new() }
    }

    /// The tables within this one, by the names that the user gave them.
    pub(crate) fn each(self, findings: &mut Findings) -> Vec<(String, Section<'a>)> {
        let mut tables = Vec::new();
        for (name, value) in &self.values {
            let Some(values) = value.as_dict().cloned() else {
                let problem = format!("is {}; make it a table", describe(value));
                findings.mistakes.push(self.mistake(name, problem));
                continue;
            };
            let (path, origin) = (self.key(name), self.origin(name));
            let table = Section { figment: self.figment, path, origin, values, known: Vec::new() };
            tables.push((name.clone(), table));
        }
        tables
    }

    /// A list of tables. In the environment: `[{ name = "…", … }]`, as TOML.
    pub(crate) fn tables(&mut self, name: &'static str, findings: &mut Findings) -> Vec<Section<'a>> {
        let list = self.take(name, findings, |value, text| {
            let parsed = match value.as_str() {
                Some(words) if text => Some(inline(words)?),
                _ => None,
            };
            let list = parsed.as_ref().unwrap_or(value).as_array().map(<[Value]>::to_vec);
            let list = list.ok_or_else(|| format!("is {}; make it a list of tables", describe(value)))?;
            let tables = list.iter().map(|v| v.as_dict().cloned()).collect::<Option<Vec<Dict>>>();
            tables.ok_or_else(|| "holds something that is not a table".to_owned())
        });
        let (path, origin) = (self.key(name), self.origin(name));
        let each = list.unwrap_or_default().into_iter().enumerate();
        each.map(|(i, values)| Section {
            figment: self.figment,
            path: format!("{path}[{i}]"),
            origin: origin.clone(),
            values,
            known: Vec::new(),
        })
        .collect()
    }

    pub(crate) fn text(&mut self, name: &'static str, findings: &mut Findings) -> Option<String> {
        self.take(name, findings, |value, _| words(value))
    }

    /// A text that may be empty.
    pub(crate) fn prefix(&mut self, name: &'static str, findings: &mut Findings) -> Option<String> {
        self.take(name, findings, |value, _| {
            let words = value.as_str().map(str::to_owned);
            words.ok_or_else(|| format!("is {}; put it in quotes", describe(value)))
        })
    }

    /// A text that no message may show.
    pub(crate) fn secret(&mut self, name: &'static str, findings: &mut Findings) -> Option<SecretString> {
        self.take(name, findings, |value, _| {
            let words = value.as_str().filter(|s| !s.trim().is_empty());
            words.map(SecretString::from).ok_or_else(|| "is not a text; put it in quotes".to_owned())
        })
    }

    /// The directory of a model, which has to be named.
    pub(crate) fn model_directory(&mut self, name: &'static str, findings: &mut Findings) -> Option<PathBuf> {
        let text = self.text(name, findings);
        let path = PathBuf::from(required(text, name, "the directory of the model", self, findings)?);
        if !path.is_dir() {
            let problem = format!("{} is no directory; give the directory of the model", path.display());
            findings.absent.push(self.mistake(name, problem));
        }
        Some(path)
    }

    /// A secret given as such, or as the file that holds it (where Kubernetes and systemd put it).
    pub(crate) fn secret_or_file(
        &mut self,
        name: &'static str,
        file: &'static str,
        findings: &mut Findings,
    ) -> Option<SecretString> {
        let given = self.secret(name, findings);
        let path = self.text(file, findings);
        if given.is_some() && path.is_some() {
            findings.mistakes.push(self.mistake(file, format!("is given beside `{name}`; leave one out")));
        }
        let read = path.and_then(|path| match read_secret(&path) {
            Ok(secret) => Some(secret),
            Err(problem) => {
                findings.mistakes.push(self.mistake(file, problem));
                None
            }
        });
        given.or(read)
    }

    /// A text that means something more.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(
        &mut self,
        name: &'static str,
        findings: &mut Findings,
    ) -> Option<T> {
        self.take(name, findings, |value, _| words(value)?.parse().map_err(|e: T::Err| e.to_string()))
    }

    pub(crate) fn list<T: FromStr<Err: Display>>(
        &mut self,
        name: &'static str,
        findings: &mut Findings,
    ) -> Option<Vec<T>> {
        self.take(name, findings, |value, _| {
            let list = value.as_array().ok_or_else(|| format!("is {}; make it a list", describe(value)))?;
            let each = list.iter().map(|v| words(v)?.parse().map_err(|e: T::Err| e.to_string()));
            each.collect()
        })
    }

    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
        findings: &mut Findings,
    ) -> Option<T> {
        self.take(name, findings, |value, _| {
            let word = words(value)?;
            let found = choices.iter().find(|(n, _)| *n == word);
            let names: Vec<_> = choices.iter().map(|(n, _)| *n).collect();
            found
                .map(|(_, v)| *v)
                .ok_or_else(|| format!("is `{word}`; use one of {}{}", names.join(", "), hint(&word, &names)))
        })
    }

    pub(crate) fn switch(&mut self, name: &'static str, findings: &mut Findings) -> Option<bool> {
        self.take(name, findings, |value, text| {
            let word = value.as_str().filter(|_| text).and_then(|s| s.parse().ok());
            word.or_else(|| value.to_bool())
                .ok_or_else(|| format!("is {}; use true or false", describe(value)))
        })
    }

    pub(crate) fn number<T>(
        &mut self,
        name: &'static str,
        range: RangeInclusive<T>,
        findings: &mut Findings,
    ) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        self.take(name, findings, |value, text| {
            let word = value.as_str().filter(|_| text).and_then(|s| s.trim().parse::<i128>().ok());
            let whole = word.or_else(|| value.to_i128()).or_else(|| value.to_u128()?.try_into().ok());
            let wanted = format!("use a whole number from {} to {}", range.start(), range.end());
            let whole = whole.ok_or_else(|| format!("is {}; {wanted}", describe(value)))?;
            let number = T::try_from(whole).ok().filter(|n| range.contains(n));
            number.ok_or_else(|| format!("is {whole}; {wanted}"))
        })
    }

    pub(crate) fn fraction(&mut self, name: &'static str, findings: &mut Findings) -> Option<f64> {
        self.real(name, 0.0..=1.0, findings)
    }

    /// What something costs.
    pub(crate) fn price(&mut self, name: &'static str, findings: &mut Findings) -> Option<f64> {
        self.real(name, 0.0..=1e6, findings)
    }

    pub(crate) fn real(
        &mut self,
        name: &'static str,
        range: RangeInclusive<f64>,
        findings: &mut Findings,
    ) -> Option<f64> {
        self.take(name, findings, |value, text| {
            let word = value.as_str().filter(|_| text).and_then(|s| s.trim().parse::<f64>().ok());
            #[expect(clippy::cast_precision_loss, reason = "a small number is wanted")]
            let whole = value.to_i128().map(|n| n as f64);
            let number = word.or_else(|| value.to_f64()).or(whole);
            let number = number.filter(|n| range.contains(n));
            let wanted = format!("use a number from {} to {}", range.start(), range.end());
            number.ok_or_else(|| format!("is {}; {wanted}", describe(value)))
        })
    }

    pub(crate) fn duration(
        &mut self,
        name: &'static str,
        range: RangeInclusive<Duration>,
        findings: &mut Findings,
    ) -> Option<Duration> {
        self.take(name, findings, |value, _| {
            let wanted = format!(
                "use a time from {} to {}, as in \"30s\" or \"1m 30s\"",
                humantime::format_duration(*range.start()),
                humantime::format_duration(*range.end())
            );
            let word = words(value).map_err(|_| format!("is {}; {wanted}", describe(value)))?;
            let time =
                humantime::parse_duration(&word).map_err(|e| format!("is `{word}` ({e}); {wanted}"))?;
            if range.contains(&time) { Ok(time) } else { Err(format!("is {word}; {wanted}")) }
        })
    }

    /// Reports every key that nobody asked for.
    pub(crate) fn finish(self, findings: &mut Findings) {
        for name in self.values.keys().filter(|n| !self.known.contains(&n.as_str())) {
            let problem =
                format!("is not a setting{}; known here: {}", hint(name, &self.known), self.known.join(", "));
            findings.unused.push(self.mistake(name, problem));
        }
    }
}

fn words(value: &Value) -> Result<String, String> {
    let words = value.as_str().ok_or_else(|| format!("is {}; put it in quotes", describe(value)))?;
    if words.trim().is_empty() {
        Err("is empty; give it a value or leave it out".to_owned())
    } else {
        Ok(words.to_owned())
    }
}

/// The content of a file without the newline that editors and `echo` put at its end.
fn read_secret(path: &str) -> Result<SecretString, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let secret = text.trim_end_matches(['\n', '\r']);
    if secret.trim().is_empty() { Err(format!("{path} is empty")) } else { Ok(secret.into()) }
}

fn inline(words: &str) -> Result<Value, String> {
    #[derive(serde::Deserialize)]
    struct Inline {
        value: toml::Value,
    }
    let parsed: Inline =
        toml::from_str(&format!("value = {words}")).map_err(|e| format!("is not TOML: {}", e.message()))?;
    Value::serialize(parsed.value).map_err(|e| e.to_string())
}

/// What a value is, without showing what could be a secret.
fn describe(value: &Value) -> String {
    match value {
        Value::String(_, s) if s.len() <= 40 => format!("the text \"{s}\""),
        Value::String(..) => "a text".to_owned(),
        Value::Char(_, c) => format!("the text \"{c}\""),
        Value::Bool(_, b) => b.to_string(),
        Value::Num(_, n) => n.to_i128().map_or_else(
            || n.to_f64().map_or_else(|| "a number".to_owned(), |f| f.to_string()),
            |i| i.to_string(),
        ),
        Value::Empty(..) => "empty".to_owned(),
        Value::Dict(..) => "a table".to_owned(),
        Value::Array(..) => "a list".to_owned(),
    }
}

/// `, did you mean …?` when something close is known.
pub(crate) fn hint(word: &str, known: &[&str]) -> String {
    closest(word, known).map_or_else(String::new, |k| format!(", did you mean `{k}`?"))
}

/// The known word that `word` is likely a slip of.
pub(crate) fn closest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let score = |k: &&'k str| strsim::normalized_damerau_levenshtein(word, k);
    known.iter().copied().filter(|k| score(k) >= 0.6).max_by(|a, b| score(a).total_cmp(&score(b)))
}
