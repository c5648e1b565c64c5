//! The embedder that is measured, with its vectors kept on disk: an ablation asks for the same ones again.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::Write,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use anyhow::{Context, bail};
use async_trait::async_trait;
use hindsight_embed::{EmbedderSpec, HttpSettings};
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};
use uuid::Uuid;

use super::Args;

/// Texts that are asked for at once; what is known by then is kept when a run breaks off.
const BATCH: usize = 64;

pub(crate) struct Cached {
    inner: Arc<dyn Embedder>,
    known: Mutex<HashMap<Uuid, Vec<f32>>>,
    file: Option<Mutex<File>>,
}

impl Cached {
    pub(crate) async fn open(args: &Args) -> anyhow::Result<Arc<Self>> {
        let inner = spec(args)?.build().await?;
        let mut cached = Self { inner, known: Mutex::default(), file: None };
        if let Some(folder) = &args.cache {
            fs::create_dir_all(folder)?;
            let path = cached.path(folder);
            if path.exists() {
                cached.known = Mutex::new(cached.read(&fs::read(&path)?));
            }
            let file = OpenOptions::new().create(true).append(true).open(&path);
            cached.file = Some(Mutex::new(file.with_context(|| path.display().to_string())?));
        }
        Ok(Arc::new(cached))
    }

    pub(crate) fn name(&self) -> String {
        self.inner.id().to_string()
    }

    fn path(&self, folder: &std::path::Path) -> PathBuf {
        let EmbedderId { model, dimension } = self.inner.id();
        let name: String = model.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        folder.join(format!("{name}-{dimension}.f32"))
    }

    /// Records of a key and a vector; a last one that was broken off is left out.
    fn read(&self, bytes: &[u8]) -> HashMap<Uuid, Vec<f32>> {
        let record = 16 + 4 * self.inner.id().dimension;
        let vector = |bytes: &[u8]| -> Vec<f32> {
            bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
        };
        bytes
            .chunks_exact(record)
            .filter_map(|r| Some((Uuid::from_slice(&r[..16]).ok()?, vector(&r[16..]))))
            .collect()
    }

    fn keep(&self, keys: &[Uuid], vectors: Vec<Vec<f32>>) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        for (key, vector) in keys.iter().zip(&vectors) {
            bytes.extend(key.as_bytes());
            vector.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        }
        if let Some(file) = &self.file {
            file.lock().unwrap_or_else(std::sync::PoisonError::into_inner).write_all(&bytes)?;
        }
        self.lock().extend(keys.iter().copied().zip(vectors));
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Uuid, Vec<f32>>> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[async_trait]
impl Embedder for Cached {
    fn id(&self) -> &EmbedderId {
        self.inner.id()
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let key =
            |text: &String| Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{purpose:?} {text}").as_bytes());
        let missing: Vec<String> = {
            let known = self.lock();
            texts.iter().filter(|text| !known.contains_key(&key(text))).cloned().collect()
        };
        for batch in missing.chunks(BATCH) {
            let keys: Vec<Uuid> = batch.iter().map(key).collect();
            let vectors = self.inner.embed(batch, purpose).await?;
            self.keep(&keys, vectors).map_err(|e| EmbedError::Unavailable(format!("cache: {e}")))?;
        }
        let known = self.lock();
        Ok(texts.iter().map(|text| known.get(&key(text)).cloned().unwrap_or_default()).collect())
    }
}

fn spec(args: &Args) -> anyhow::Result<EmbedderSpec> {
    Ok(match args.embedder.split_once(':') {
        None if args.embedder == "default" => EmbedderSpec::default(),
        None if args.embedder == "hashing" => EmbedderSpec::Hashing,
        Some(("dir", path)) => EmbedderSpec::Directory(path.into()),
        Some(("http", url)) => {
            let mut settings = HttpSettings::new(url, &args.embedder_model);
            settings.query_prefix.clone_from(&args.query_prefix);
            settings.passage_prefix.clone_from(&args.passage_prefix);
            EmbedderSpec::Http(settings)
        }
        _ => bail!("--embedder {}: give default, hashing, dir:PATH or http:URL", args.embedder),
    })
}
