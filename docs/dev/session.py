#!/usr/bin/env python3
"""Draws docs/session.svg, the terminal session of the README, from the commands and their output in docs/dev/session.md.

    BLESS=1 cargo test documents    # what the commands print today, into session.md
    docs/dev/session.py             # and into the picture
    docs/dev/session.py --check     # fails where the picture shows something else

The colours are those that zlaunch gives its output on a terminal of 80 columns: `cargo test documents` leaves the page with
them in target/session.md. The commands are typed and answered one after the other by CSS. Where there are no animations
(some viewers, `prefers-reduced-motion`) the first scene stands still.
"""

import re
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COLOURED = ROOT / "target/session.md"
COLUMNS = 80
# Pixels.
LINE, MARGIN, TITLE = 20, 18, 34
# Milliseconds: to type a letter, to read a scene.
TYPING, READING = 25, 7000

# What a terminal makes of `ESC [ number m`, as classes of the picture.
LOOKS = {1: "b", 2: "dim", 4: "u", 31: "red", 32: "green", 33: "yellow", 34: "blue", 35: "magenta", 36: "cyan", 90: "grey"}
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def scenes(document):
    """The commands, each as its lines, and the lines of their output."""
    found = []
    for block in re.findall(r"^```console 80\n(.*?)^```$", document, re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        command = [lines.pop(0).removeprefix("$ ")]
        while command[-1].endswith("\\"):
            command.append(lines.pop(0))
        found.append((command, lines))
    return found


def width_of(letters):
    return letters * 17 // 2


def plain(line):
    return ESCAPE.sub("", line)


def coloured(line):
    """The line with its escapes as elements."""
    drawn, looks = "", []
    for at, part in enumerate(ESCAPE.split(line)):
        if at % 2:
            for number in map(int, part.split(";")):
                looks = looks + [LOOKS[number]] if number else []
        elif part:
            drawn += f'<tspan class="{" ".join(looks)}">{text(part)}</tspan>' if looks else text(part)
    return drawn


def text(words):
    return escape(words, quote=False)


class Drawing:
    def __init__(self, scenes):
        rows = max(len(command) + len(output) for command, output in scenes)
        self.width = MARGIN * 2 + width_of(COLUMNS)
        self.height = TITLE + rows * LINE + MARGIN * 2
        self.time = sum(sum(map(len, command)) * TYPING + READING for command, _ in scenes)
        self.style, self.body = [], []
        start = 0
        for number, (command, output) in enumerate(scenes):
            start = self.scene(number, command, output, start)

    def at(self, time):
        """A moment of the whole, as CSS counts."""
        return f"{time * 10_000 // self.time / 100:.2f}%"

    def animation(self, name, frames, timing=""):
        seconds = f"{self.time // 1000}.{self.time % 1000:03}s"
        self.style.append(f"@keyframes {name}{{{frames}}}\n.{name}{{animation:{name} {seconds}{timing} infinite}}")

    def show(self, name, start, end):
        frames = f"0%{{visibility:hidden}}{self.at(start)}{{visibility:visible}}{self.at(end)}{{visibility:hidden}}"
        self.animation(name, frames, " step-end")

    def scene(self, number, command, output, start):
        """Returns when it ends."""
        self.body.append(f'<g class="scene s{number}">')
        y, time = TITLE + MARGIN + LINE, start
        for row, line in enumerate(command):
            time = self.type_line(f"t{number}{row}", row, line, y, time)
            y += LINE
        self.show(f"s{number}", start, time + READING)
        self.show(f"o{number}", time, time + READING)
        self.body.append(f'<g class="out o{number}">')
        for line in output:
            assert len(plain(line)) <= COLUMNS, f"more than {COLUMNS} columns: {line}"
            self.body.append(f'<text x="{MARGIN}" y="{y}">{coloured(line)}</text>')
            y += LINE
        self.body.append("</g>\n</g>")
        return time + READING

    def type_line(self, name, row, line, y, start):
        """A line of a command, under a cover that moves off it letter by letter. Returns when that is done."""
        assert len(line) + 2 * (row == 0) <= COLUMNS, f"more than {COLUMNS} columns: {line}"
        end = start + len(line) * TYPING
        frames = (
            f"0%,{self.at(start)}{{transform:none;animation-timing-function:steps({len(line)})}}"
            f"{self.at(end)}{{transform:translateX({width_of(len(line))}px)}}"
            f"{self.at(end + 10)},100%{{transform:translateX({self.width}px)}}"
        )
        self.animation(name, frames)
        prompt = "" if row else '<tspan class="green b">$</tspan> '
        self.body.append(f'<text x="{MARGIN}" y="{y}">{prompt}{text(line)}</text>')
        cover = f'x="{MARGIN + (0 if row else width_of(2))}" y="{y + 5 - LINE}" width="{self.width}" height="{LINE}"'
        self.body.append(f'<rect class="cover {name}" {cover}/>')
        return end

    def svg(self):
        width, height = self.width, self.height
        style, body = "\n".join(self.style), "\n".join(self.body)
        return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="zlaunch in a terminal">
<style>
text{{font:14px/20px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:#d8dee9;white-space:pre}}
.title{{fill:#8b949e;text-anchor:middle}}.b{{font-weight:bold}}.u{{text-decoration:underline}}
.red{{fill:#ff7b72}}.yellow{{fill:#e3b341}}.blue{{fill:#79c0ff}}.cyan{{fill:#56d4dd}}.green{{fill:#7ee787}}.magenta{{fill:#d2a8ff}}.grey,.dim{{fill:#8b949e}}
.cover{{fill:#161b22;transform:translateX({width}px)}}.scene,.out{{visibility:hidden}}.s0,.o0{{visibility:visible}}
{style}
@media (prefers-reduced-motion:reduce){{*{{animation:none!important}}}}
</style>
<clipPath id="frame"><rect width="{width}" height="{height}" rx="10"/></clipPath>
<g clip-path="url(#frame)" xml:space="preserve">
<rect width="{width}" height="{height}" fill="#161b22"/>
<rect width="{width}" height="{TITLE}" fill="#21262d"/>
<circle cx="20" cy="17" r="6" fill="#ff5f57"/><circle cx="40" cy="17" r="6" fill="#febc2e"/><circle cx="60" cy="17" r="6" fill="#28c840"/>
<text class="title" x="{width // 2}" y="22">zlaunch</text>
{body}
</g>
<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10" fill="none" stroke="#8b949e" stroke-opacity=".4"/>
</svg>
"""


def main():
    picture = ROOT / "docs/session.svg"
    subprocess.run(["cargo", "test", "--quiet", "--test", "cli", "documents_show"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    drawn = Drawing(scenes(COLOURED.read_text(encoding="utf-8"))).svg()
    if sys.argv[1:] == ["--check"]:
        sys.exit("docs/session.svg is old: run docs/dev/session.py" if picture.read_text(encoding="utf-8") != drawn else 0)
    if sys.argv[1:]:
        sys.exit(__doc__)
    picture.write_text(drawn, encoding="utf-8")


main()
