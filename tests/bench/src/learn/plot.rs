//! Success and calls by task, as an SVG picture.

use std::fmt::Write as _;

use super::{Done, Kind, Life, Lives};

/// Tasks over which a point of a line is the mean, up to and with its own.
const ROLLING: usize = 15;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const PANEL: f64 = 220.0;
const TOP: f64 = 56.0;
const GAP: f64 = 48.0;

struct Panel {
    title: &'static str,
    top: f64,
    /// The value at the upper edge; the lower edge is 0.
    most: f64,
    ticks: usize,
    of: fn(&Done) -> f64,
}

const PANELS: [Panel; 2] = [
    Panel {
        title: "success, %",
        top: TOP,
        most: 100.0,
        ticks: 5,
        of: |task| if task.solved { 100.0 } else { 0.0 },
    },
    Panel {
        title: "tool calls per task",
        top: TOP + PANEL + GAP,
        most: 16.0,
        ticks: 4,
        of: |task| task.calls as f64,
    },
];

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::None => "#888888",
        Kind::Logs => "#d08020",
        Kind::Ungated => "#7a5cc0",
        Kind::Hindsight => "#107a50",
        Kind::Watched => "#b02a5b",
    }
}

/// One line per memory in each panel; dashes where the poisoned run and the drift come.
pub(super) fn draw(all: &[Lives]) -> String {
    let tasks = all.iter().flat_map(|lives| &lives.seeds).map(Vec::len).max().unwrap_or_default();
    let height = TOP + 2.0 * PANEL + GAP + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    legend(&mut svg, all);
    for panel in &PANELS {
        axes(&mut svg, panel, tasks);
        for lives in all {
            line(&mut svg, panel, lives, tasks);
        }
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">task (mean of the last {ROLLING}, all worlds)</text>\n</svg>",
        WIDTH / 2.0,
        height - 8.0
    );
    svg
}

fn legend(svg: &mut String, all: &[Lives]) {
    for (n, lives) in all.iter().enumerate() {
        let x = LEFT + 190.0 * n as f64;
        let (colour, name) = (colour(lives.kind), lives.kind.name());
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"16\" width=\"22\" height=\"4\" fill=\"{colour}\"/><text x=\"{}\" y=\"23\">{name}</text>",
            x + 28.0
        );
    }
}

fn axes(svg: &mut String, panel: &Panel, tasks: usize) {
    let bottom = panel.top + PANEL;
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{}</text>",
        panel.top - 8.0,
        panel.title
    );
    for tick in 0..=panel.ticks {
        let value = panel.most * tick as f64 / panel.ticks as f64;
        let y = height_of(panel, value);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{value:.0}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (at, what) in [(tasks / 4, "poisoned run"), (tasks / 2, "drift")] {
        let x = place_of(at, tasks);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{bottom}\" stroke=\"#666666\" stroke-dasharray=\"4 4\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#666666\">{what}</text>",
            panel.top,
            x + 4.0,
            bottom - 6.0
        );
    }
    for at in (0..=tasks).step_by((tasks / 6).max(1)) {
        let x = place_of(at, tasks);
        let _ =
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{at}</text>", bottom + 16.0);
    }
}

fn line(svg: &mut String, panel: &Panel, lives: &Lives, tasks: usize) {
    let points: Vec<String> = (ROLLING..=tasks)
        .filter_map(|end| rolling(&lives.seeds, end, panel.of).map(|value| (end, value)))
        .map(|(end, value)| format!("{:.1},{:.1}", place_of(end, tasks), height_of(panel, value)))
        .collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
        points.join(" "),
        colour(lives.kind)
    );
}

/// The mean over the tasks before number `end` of all worlds.
fn rolling(seeds: &[Life], end: usize, of: fn(&Done) -> f64) -> Option<f64> {
    let window = |life: &Life| life.get(end.saturating_sub(ROLLING)..end).map(<[Done]>::to_vec);
    let values: Vec<f64> = seeds.iter().filter_map(window).flatten().map(|task| of(&task)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn place_of(task: usize, tasks: usize) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * task as f64 / tasks.max(1) as f64
}

fn height_of(panel: &Panel, value: f64) -> f64 {
    panel.top + PANEL * (1.0 - value / panel.most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_memory_has_a_line_in_each_panel_and_none_leaves_it() {
        let task = Done { solved: true, calls: 16, harmed: false, repeated: false };
        let all = [Kind::None, Kind::Hindsight].map(|kind| Lives { kind, seeds: vec![vec![task; 40]; 3] });
        let svg = draw(&all);
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        // All solved and all calls used up: each line runs along the upper edge of its panel.
        for panel in &PANELS {
            assert!(svg.contains(&format!(",{:.1} ", panel.top)), "{svg}");
        }
    }
}
