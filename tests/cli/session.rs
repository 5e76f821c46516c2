//! docs/session.svg: a terminal session, drawn from what zlaunch prints. `BLESS=1 cargo test session` draws it again.
//!
//! A scene is a command that is typed and its output. Scenes follow each other by CSS; where there are no animations (some viewers,
//! `prefers-reduced-motion`) the first one stands still.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::documents::output;
use crate::sandbox::{Sandbox, plant};

const SCENES: &[&str] = &[
    "zlaunch --dry-run --deepspeed zero2 -- swift sft --model model --torch_dtype bfloat16 \\\n    \
     --per_device_train_batch_size 1 --gradient_accumulation_steps 16 --max_grad_norm 1",
    "zlaunch --deepspeed zero2_ofload -- swift sft --model model",
    "zlaunch check --deepspeed zero2 --set gradient_clipping=1.0 --set zero_optimization.overlapp_comm=true \\\n    \
     -- swift sft --model model --max_grad_norm 0.5",
    "zlaunch fit --gpu-memory 80GiB --host-memory 1TiB -- swift sft --model model --tuner_type full --max_length 4096",
    "zlaunch explain stage3_max_live_parameters",
];

const COLUMNS: usize = 133;
const LINE: usize = 18;
const MARGIN: usize = 18;
const TITLE: usize = 34;
/// Milliseconds: a letter, and to read a scene.
const TYPING: usize = 25;
const READING: usize = 7000;

/// Pixels of so many letters.
const fn wide(letters: usize) -> usize {
    letters * 29 / 4
}

/// Text of one look: its classes, and itself.
type Run = (&'static str, String);

#[test]
fn the_session_shows_what_happens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/session.svg");
    let drawn = drawn();
    if std::env::var_os("BLESS").is_some() {
        plant(&path, &drawn);
    }
    let written = fs::read_to_string(path).unwrap();
    for (written, drawn) in written.lines().zip(drawn.lines()) {
        assert_eq!(written, drawn, "docs/session.svg is old: BLESS=1 cargo test session");
    }
    assert_eq!(written, drawn);
}

fn drawn() -> String {
    let sandbox = Sandbox::of_documents();
    let sizes = r#""hidden_size": 4096, "num_hidden_layers": 36, "vocab_size": 151936, "intermediate_size": 12288"#;
    let heads = r#""num_attention_heads": 32, "num_key_value_heads": 8"#;
    sandbox.file("model/config.json", &format!(r#"{{"model_type": "qwen3", {sizes}, {heads}}}"#));
    let scenes: Vec<(&str, Vec<Vec<Run>>)> = SCENES
        .iter()
        .map(|command| (*command, lines(&output(&format!("export CLICOLOR_FORCE=1\n{command}"), &sandbox))))
        .collect();
    svg(&scenes)
}

fn svg(scenes: &[(&str, Vec<Vec<Run>>)]) -> String {
    let rows = scenes.iter().map(|(command, lines)| command.lines().count() + lines.len()).max().unwrap_or_default();
    let (width, height) = (MARGIN * 2 + wide(COLUMNS), TITLE + rows * LINE + MARGIN * 2);
    let all = scenes.iter().map(|(command, _)| letters(command) * TYPING + READING).sum();
    let (mut style, mut body, mut start) = (String::new(), String::new(), 0);
    for (number, (command, lines)) in scenes.iter().enumerate() {
        let scene = Scene { number, start, all, width };
        let mut y = TITLE + MARGIN + LINE;
        let _ = writeln!(body, "<g class=\"scene s{number}\">");
        let typed = scene.type_in(command, &mut y, &mut style, &mut body);
        let end = typed + READING;
        scene.show("s", start, end, &mut style);
        scene.show("o", typed, end, &mut style);
        let _ = writeln!(body, "<g class=\"out o{number}\">");
        for line in lines {
            let spans = line.iter().map(|(class, text)| match *class {
                "" => escaped(text),
                class => format!("<tspan class=\"{class}\">{}</tspan>", escaped(text)),
            });
            let _ = writeln!(body, "<text x=\"{MARGIN}\" y=\"{y}\">{}</text>", spans.collect::<String>());
            y += LINE;
        }
        body += "</g>\n</g>\n";
        start = end;
    }
    framed(width, height, &style, &body)
}

fn letters(command: &str) -> usize {
    command.lines().map(str::len).sum()
}

/// One command in the time of all.
struct Scene {
    number: usize,
    start: usize,
    all: usize,
    width: usize,
}

impl Scene {
    fn percent(&self, time: usize) -> String {
        let hundredths = time * 10_000 / self.all;
        format!("{}.{:02}%", hundredths / 100, hundredths % 100)
    }

    fn seconds(&self) -> String {
        format!("{}.{:03}s", self.all / 1000, self.all % 1000)
    }

    fn show(&self, what: &str, from: usize, to: usize, style: &mut String) {
        let (name, all) = (format!("{what}{}", self.number), self.seconds());
        let (from, to) = (self.percent(from), self.percent(to));
        let _ = writeln!(
            style,
            "@keyframes {name}{{0%{{visibility:hidden}}{from}{{visibility:visible}}{to}{{visibility:hidden}}}}\n.{name}{{animation:{name} {all} step-end infinite}}"
        );
    }

    /// The command, under covers that move off its lines letter by letter; when that is done.
    fn type_in(&self, command: &str, y: &mut usize, style: &mut String, body: &mut String) -> usize {
        let mut time = self.start;
        for (row, line) in command.lines().enumerate() {
            let prompt = if row == 0 { "<tspan class=\"green b\">$</tspan> " } else { "  " };
            let (name, all) = (format!("t{}{row}", self.number), self.seconds());
            let end = time + line.len() * TYPING;
            let _ = writeln!(
                style,
                "@keyframes {name}{{0%,{}{{transform:none;animation-timing-function:steps({})}}{}{{transform:translateX({}px)}}{},100%{{transform:translateX({}px)}}}}\n.{name}{{animation:{name} {all} infinite}}",
                self.percent(time),
                line.len(),
                self.percent(end),
                wide(line.len()),
                self.percent(end + 10),
                self.width,
            );
            let _ = writeln!(
                body,
                "<text x=\"{MARGIN}\" y=\"{y}\">{prompt}{}</text>\n<rect class=\"cover {name}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{LINE}\"/>",
                escaped(line),
                MARGIN + wide(2),
                *y + 5 - LINE,
                self.width,
            );
            time = end;
            *y += LINE;
        }
        time
    }
}

fn framed(width: usize, height: usize, style: &str, body: &str) -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="zlaunch in a terminal">
<style>
text{{font:12px/18px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:#d8dee9;white-space:pre}}
.title{{fill:#8b949e;text-anchor:middle}}.b{{font-weight:bold}}
.red{{fill:#ff7b72}}.yellow{{fill:#e3b341}}.blue{{fill:#79c0ff}}.cyan{{fill:#56d4dd}}.green{{fill:#7ee787}}
.cover{{fill:#161b22;transform:translateX({width}px)}}.scene,.out{{visibility:hidden}}.s0,.o0{{visibility:visible}}
{style}@media (prefers-reduced-motion:reduce){{*{{animation:none!important}}}}
</style>
<clipPath id="frame"><rect width="{width}" height="{height}" rx="10"/></clipPath>
<g clip-path="url(#frame)" xml:space="preserve">
<rect width="{width}" height="{height}" fill="#161b22"/>
<rect width="{width}" height="{TITLE}" fill="#21262d"/>
<circle cx="20" cy="17" r="6" fill="#ff5f57"/><circle cx="40" cy="17" r="6" fill="#febc2e"/><circle cx="60" cy="17" r="6" fill="#28c840"/>
<text class="title" x="{}" y="22">zlaunch</text>
{body}</g>
<rect x=".5" y=".5" width="{}" height="{}" rx="10" fill="none" stroke="#8b949e" stroke-opacity=".4"/>
</svg>
"##,
        width / 2,
        width - 1,
        height - 1,
    )
}

/// What a terminal of `COLUMNS` shows of a text with colours, line by line.
fn lines(text: &str) -> Vec<Vec<Run>> {
    let mut found = Vec::new();
    for line in text.lines() {
        let (mut runs, mut used): (Vec<Run>, usize) = (Vec::new(), 0);
        let (mut bold, mut colour) = (false, 0);
        let mut rest = line;
        while !rest.is_empty() {
            if let Some((code, after)) = rest.strip_prefix("\x1b[").and_then(|rest| rest.split_once('m')) {
                match code {
                    "0" | "" => (bold, colour) = (false, 0),
                    "1" => bold = true,
                    code => colour = code.parse().unwrap(),
                }
                rest = after;
                continue;
            }
            let end = rest.find('\x1b').unwrap_or(rest.len());
            let (plain, after) = rest.split_at(end);
            rest = after;
            for letter in plain.chars() {
                if used == COLUMNS {
                    found.push(std::mem::take(&mut runs));
                    used = 0;
                }
                let class = class(bold, colour);
                match runs.last_mut().filter(|(last, _)| *last == class) {
                    Some((_, text)) => text.push(letter),
                    None => runs.push((class, letter.to_string())),
                }
                used += 1;
            }
        }
        found.push(runs);
    }
    found
}

fn class(bold: bool, colour: u8) -> &'static str {
    match (bold, colour) {
        (false, 0) => "",
        (true, 0) => "b",
        (true, 31) => "red b",
        (true, 33) => "yellow b",
        (true, 36) => "cyan b",
        (_, 34) => "blue",
        other => panic!("a look nobody has drawn yet: {other:?}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
