"""Pictures: self-contained SVG, for light and dark, stamped."""

import os, re
from html import escape

import runs

# Okabe and Ito's colours, which colour-blind readers can tell apart. Dark letters are readable on
# all of them.
COLOURS = ["#56B4E9", "#E69F00", "#2BB58A", "#E8A4C8", "#F0E442", "#8FA8D8", "#D8825A", "#A8A8A8"]
CHARACTER = 0.602  # of DejaVu Sans Mono and most others, relative to the size

STYLE = """
svg{font-family:'DejaVu Sans',Verdana,sans-serif;font-size:12px}
.mono{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace}
.title{font-size:16px;font-weight:bold}.small{font-size:11px}
.paper{fill:#ffffff}.ink{fill:#1f2328}.pale{fill:#59636e}.on{fill:#1f2328}.band{fill:#f0f2f5}
.line{stroke:#d1d9e0;fill:none}.axis{stroke:#59636e;fill:none}.edge{stroke:#ffffff;stroke-width:.6}.wake{stroke:#1f2328;stroke-width:.8;fill:none}
@media(prefers-color-scheme:dark){
.paper{fill:#0d1117}.ink{fill:#e6edf3}.pale{fill:#9198a1}.band{fill:#1c2129}
.line{stroke:#3d444d}.axis{stroke:#9198a1}.edge{stroke:#0d1117}.wake{stroke:#e6edf3}}
"""


class Picture:
    def __init__(self, width, title):
        self.width, self.title, self.parts = width, title, []
        self.text(16, 28, title, "ink title")

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, words, kind="ink", anchor="start", more=""):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{more}>{escape(words)}</text>')

    def rect(self, x, y, width, height, fill="", kind="", title=""):
        fill = f' fill="{fill}"' if fill else ""
        kind = f' class="{kind}"' if kind else ""
        inner = f"><title>{escape(title)}</title></rect>" if title else "/>"
        self.add(f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}"{fill}{kind}{inner}')

    def path(self, path, kind="", more=""):
        self.add(f'<path d="{path}"' + (f' class="{kind}"' if kind else "") + f"{more}/>")

    def legend(self, x, y, entries):
        """One line of coloured squares with their meanings."""
        for colour, words in entries:
            self.rect(x, y - 10, 12, 12, colour)
            self.text(x + 17, y, words, "pale")
            x += 17 + 7.2 * len(words) + 18

    def save(self, name, height):
        """Writes the picture to the results and returns its name there."""
        self.text(16, height - 14, runs.STAMP, "pale small")
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {height:.0f}" width="{self.width:.0f}" height="{height:.0f}">'
        paper = f'<rect width="{self.width:.0f}" height="{height:.0f}" rx="8" class="paper"/>'
        lines = [head, f"<title>{escape(self.title)}</title>", f"<style>{STYLE}</style>", paper, *self.parts, "</svg>"]
        file = re.sub(r"[^a-z0-9]+", "-", name.lower()) + os.environ["SUFFIX"] + ".svg"
        with open(os.path.join(os.environ["RESULTS"], file), "w") as out:
            out.write("\n".join(lines) + "\n")
        return file


def fitted(words, width, size=11):
    """The beginning of the words that fits, in letters of equal width."""
    room = int(width / (size * CHARACTER))
    return words if len(words) <= room else words[: room - 1] + "…" if room > 3 else ""


def ticks(most, about=6):
    """Round steps up to the greatest value."""
    step = 10.0 ** len(str(int(most))) / 100 if most >= 1 else 0.01
    while most / step > about:
        step *= 2.5 if str(step).lstrip("0.")[0] == "2" else 2
    return [i * step for i in range(int(most / step + 1e-9) + 1)]
