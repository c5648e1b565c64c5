use std::path::PathBuf;

use figment::{
    Error, Figment, Metadata, Profile, Provider,
    providers::{Format as _, Toml},
    value::{Dict, Map, Value},
};

const PREFIX: &str = "HINDSIGHT__";

/// Where settings come from, later ones over earlier ones: defaults, `file`, `env`, `flags`.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Must exist when given.
    pub file: Option<PathBuf>,
    /// Variables `HINDSIGHT__SECTION__KEY` with their values; others are ignored.
    pub env: Vec<(String, String)>,
    /// Dotted keys with their values, as given on the command line.
    pub flags: Vec<(String, String)>,
    /// Data directory when none is set.
    pub data_dir: PathBuf,
}

impl Sources {
    /// The environment of this process, and its user's data directory (XDG) as the default.
    pub fn from_process(file: Option<PathBuf>, flags: Vec<(String, String)>) -> Self {
        let env = std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.to_string_lossy().into_owned())))
            .filter(|(k, _)| k.starts_with(PREFIX))
            .collect();
        let home = std::env::var_os("HOME").filter(|h| !h.is_empty());
        let base = std::env::var_os("XDG_DATA_HOME")
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
            .or_else(|| Some(PathBuf::from(home?).join(".local/share")));
        let data_dir = base.map_or_else(|| PathBuf::from("hindsight-data"), |b| b.join("hindsight"));
        Self { file, env, flags, data_dir }
    }

    pub(crate) fn figment(&self) -> Figment {
        let mut figment = Figment::new();
        if let Some(file) = &self.file {
            figment = figment.merge(Toml::file_exact(file));
        }
        for (name, value) in &self.env {
            if let Some(rest) = name.strip_prefix(PREFIX) {
                let key = rest.to_lowercase().split("__").map(str::to_owned).collect();
                let origin = format!("environment variable {name}");
                figment = figment.merge(Text { origin, key, value: value.clone() });
            }
        }
        for (key, value) in &self.flags {
            let origin = "command line".to_owned();
            let key = key.split('.').map(str::to_owned).collect();
            figment = figment.merge(Text { origin, key, value: value.clone() });
        }
        figment
    }
}

/// One value in words, to be read as whatever its key wants.
struct Text {
    origin: String,
    key: Vec<String>,
    value: String,
}

impl Provider for Text {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.origin.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let leaf = Value::from(self.value.clone());
        let nest = |value: Value, key: &String| Value::from(Dict::from([(key.clone(), value)]));
        let root = self.key.iter().rev().fold(leaf, nest);
        Ok(Map::from([(Profile::Default, root.into_dict().unwrap_or_default())]))
    }
}
