//! What is said of a reading, and what advice says around its calls.

use hindsight_types::Trajectory;

use super::act::Act;
use crate::distil;

/// Characters of a call that are shown.
const SHOWN: usize = 80;
/// Between the task and the symptom in the situation of a lesson.
const SYMPTOM: [&str; 2] = [" Seen: ", " 现象："];
/// Before what worked, in the suggestion of a failure pattern.
const WORKED: [&str; 2] = ["What worked in the same run: ", "同一次运行中有效的做法："];

#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    chinese: bool,
}

/// The task and the symptom of a situation that names one.
pub(super) fn symptom(situation: &str) -> Option<(&str, &str)> {
    SYMPTOM.iter().find_map(|seen| situation.rsplit_once(seen))
}

impl Words {
    pub(super) fn of(t: &Trajectory) -> Self {
        Self { chinese: distil::is_chinese(t) }
    }

    /// The calls that a suggestion names, where something worked.
    pub(super) fn after_opening(self, suggestion: &str) -> Option<&str> {
        WORKED.iter().find_map(|opening| suggestion.strip_prefix(opening))
    }

    pub(super) fn followed(self, steps: &[u32], chosen: &[Act]) -> String {
        let steps: Vec<String> = steps.iter().map(u32::to_string).collect();
        let did: Vec<String> = chosen.iter().map(shown).collect();
        if self.chinese {
            format!("第 {} 步照建议做了：{}", steps.join("、"), did.join("，然后 "))
        } else {
            format!("it did what is advised, in step {}: {}", steps.join(", "), did.join(", then "))
        }
    }

    pub(super) fn in_vain(self, steps: &[u32], still: u32, chosen: &[Act]) -> String {
        let did = self.followed(steps, chosen);
        if self.chinese {
            format!("{did}；第 {still} 步仍看到原来的问题，结果是靠后来的其他操作达到的")
        } else {
            format!("{did}; step {still} saw the trouble as before, and something else ended it")
        }
    }

    pub(super) fn contradicted(self, step: u32, act: &Act) -> String {
        if self.chinese {
            format!("它只靠建议所反对的做法达到结果，如第 {step} 步：{}", shown(act))
        } else {
            format!("all that it changed is what the advice rejects, as in step {step}: {}", shown(act))
        }
    }

    pub(super) fn nothing_alike(self, nothing_advised: bool) -> String {
        match (nothing_advised, self.chinese) {
            (true, false) => "the advice names no call that one could be seen to make",
            (true, true) => "建议里没有可辨认的操作",
            (false, false) => "it made not all of the calls that are advised, or did not need them",
            (false, true) => "它没有做建议里的全部操作，或这些操作并非必要",
        }
        .to_owned()
    }

    pub(super) fn too_much(self, calls: usize) -> String {
        if self.chinese {
            format!("建议里有 {calls} 个操作，多得无法辨认是否照做")
        } else {
            format!("it advises {calls} calls, too many to tell whether it was followed")
        }
    }

    pub(super) fn shows_no_way(self) -> String {
        let (english, chinese) = ("a run that failed shows no way to follow", "失败的运行没有可以照做的路径");
        if self.chinese { chinese } else { english }.to_owned()
    }
}

fn shown(act: &Act) -> String {
    let named = act.named.iter().map(|(k, v)| format!("{k}={v}"));
    let arguments: Vec<String> = act.plain.iter().cloned().chain(named).collect();
    hindsight_text::one_line(&format!("{}({})", act.purpose, arguments.join(" ")), SHOWN)
}
