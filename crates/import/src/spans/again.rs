//! A span that is told of more than once: by overlapping pages of an export, by an exporter that appends what it has
//! written before, or when it begins and again when it ends.

use super::{Kind, Span};

impl Span {
    /// Begun, and not known to have ended.
    pub(super) fn is_open(&self) -> bool {
        self.started.is_some() && self.ended.is_none()
    }

    /// Two records of one span. The later one counts, unless the earlier one alone has the end; what the one leaves
    /// out is taken from the other.
    pub(super) fn joined(self, later: Span) -> Span {
        let stale = self.ended.is_some() && later.ended.is_none();
        let (more, less) = if stale { (self, later) } else { (later, self) };
        Span {
            id: more.id,
            parent: more.parent.or(less.parent),
            name: filled(more.name, less.name),
            kind: more.kind.joined(less.kind),
            error: more.error.or(less.error),
            started: more.started.or(less.started),
            ended: more.ended.or(less.ended),
        }
    }
}

impl Kind {
    fn joined(self, less: Kind) -> Kind {
        match (self, less) {
            (Kind::Model { heard, said }, Kind::Model { heard: heard_else, said: said_else }) => {
                Kind::Model {
                    heard: if heard.is_empty() { heard_else } else { heard },
                    said: if said.is_empty() { said_else } else { said },
                }
            }
            (
                Kind::Tool { call_id, arguments, output, failed, only_if_asked },
                Kind::Tool { call_id: id_else, arguments: given, output: got, failed: went, .. },
            ) => Kind::Tool {
                call_id: call_id.or(id_else),
                arguments: filled(arguments, given),
                output: filled(output, got),
                failed: failed.or(went),
                only_if_asked,
            },
            (Kind::Other, kind) | (kind, _) => kind,
        }
    }
}

fn filled(text: String, otherwise: String) -> String {
    if text.is_empty() { otherwise } else { text }
}
