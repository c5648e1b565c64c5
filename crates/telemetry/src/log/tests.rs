use std::{
    io,
    sync::{Arc, Mutex},
};

use super::*;

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(json: bool, filter: &str, work: impl FnOnce()) -> String {
    let buffer = Buffer::default();
    let writer = buffer.clone();
    let subscriber = subscriber(json, &filter.parse().unwrap(), move || writer.clone(), None).unwrap();
    tracing::dispatcher::with_default(&subscriber, work);
    String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn json_lines_carry_fields_and_the_span() {
    let text = logged(true, "info", || {
        let _span = tracing::info_span!("rpc", tenant = "租户").entered();
        tracing::info!(depth = 3, "queue\nfull");
    });
    let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&line["message"], &line["depth"]), (&"queue\nfull".into(), &3.into()));
    assert_eq!((&line["level"], &line["span"]["tenant"]), (&"INFO".into(), &"租户".into()));
}

#[test]
fn the_filter_decides_by_level_and_target() {
    let text = logged(false, "warn,special=debug", || {
        tracing::info!("quiet");
        tracing::warn!("loud");
        tracing::debug!(target: "special", "close");
    });
    assert!(!text.contains("quiet") && text.contains("loud") && text.contains("close"), "{text}");
}

#[test]
fn a_filter_that_is_none_says_what_one_is() {
    let error = "info,=,=x".parse::<Filter>().unwrap_err().to_string();
    assert!(error.contains("hindsight_recall=debug"), "{error}");
    assert_eq!("info".parse::<Filter>().unwrap(), Filter::default());
}

#[test]
fn a_panic_is_logged_with_its_place() {
    let text = logged(true, "info", || {
        std::panic::set_hook(Box::new(panicked));
        let caught = std::panic::catch_unwind(|| panic!("boom {}", 7));
        let _ = std::panic::take_hook();
        assert!(caught.is_err());
    });
    let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(line["message"], "panic: boom 7");
    assert!(line["at"].as_str().unwrap().contains("tests.rs"));
}
