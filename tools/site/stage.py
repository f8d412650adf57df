# SPDX-License-Identifier: MIT
"""Takes the Markdown pages of the repository into the source folder of the site, at the same paths, so that links among them
hold in both places; notebooks become pages with what their cells printed. Links to other files become downloads; links to folders go
to their README.md, or become plain text."""
import json
import re
import shutil
from pathlib import Path
from urllib.parse import unquote

# Pages that the site takes in, by their folders; of the root, what says how things are.
FOLDERS = ["docs", "tile", "lab", "tests/fuzz", "examples", "packaging"]
ROOT_PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"`[^`]+`")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def pages_of(root):
    """Paths of the pages, relative to the root."""
    found = [Path(name) for name in ROOT_PAGES if (root / name).is_file()]
    for folder in FOLDERS:
        found += sorted(page.relative_to(root) for kind in ("*.md", "*.ipynb") for page in (root / folder).rglob(kind))
    return found


def text_of(page):
    """The page in Markdown."""
    if page.suffix == ".md":
        return page.read_text()
    parts = []
    for cell in json.loads(page.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        printed = "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")
        parts.append(f"```python\n{source}\n```")
        parts += [f"```text\n{printed.rstrip()}\n```"] if printed else []
    title, rest = "\n\n".join(parts).split("\n", 1)
    return f"{title}\n\n*This page is the notebook `{page.name}` of the sources, where it can be run.*\n{rest}"


def parts_of(text):
    """[(text, is_code)]: fenced blocks, and what lies between blank lines outside them. A link may begin in one line and end in the next."""
    parts, fenced = [], False
    for line in text.splitlines():
        is_fence = bool(FENCE.match(line))
        joins = parts and parts[-1][1] == fenced and not is_fence and (fenced or (line.strip() and parts[-1][0].strip()))
        if joins or (is_fence and fenced):
            parts[-1] = (parts[-1][0] + "\n" + line, parts[-1][1])
        else:
            parts.append((line, fenced or is_fence))
        fenced = fenced != is_fence
    return parts


def with_one_title(parts):
    """A page with several titles is one page in the tree of the site: all headings behind its first title go one level down."""
    titles = sum(len(re.findall(r"^# ", text, re.M)) for text, is_code in parts if not is_code)
    if titles < 2:
        return parts
    out, seen = [], False
    for text, is_code in parts:
        if not is_code and seen:
            text = re.sub(r"^(#{1,5}) ", r"#\1 ", text, flags=re.M)
        seen = seen or (not is_code and text.startswith("# "))
        out.append((text, is_code))
    return out


def rewritten(line, resolve):
    """The text with each link outside of inline code as `resolve(bang, text, target)` gives it."""
    out, at = [], 0
    spans = [span.span() for span in CODE.finditer(line)]
    for link in LINK.finditer(line):
        # Code within a link's text is part of the link; a link within code is not one.
        if any(first < link.start() and link.end() < last + 1 for first, last in spans):
            continue
        out += [line[at:link.start()], resolve(*link.groups())]
        at = link.end()
    return "".join([*out, line[at:]])


def stage(root, source):
    """Fills `source`; returns the pages that were taken."""
    pages = pages_of(root)
    taken = set(pages)
    for page in pages:
        def resolve(bang, text, target, page=page):
            if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("#"):
                return f"{bang}[{text}]({target})"
            path, _, anchor = unquote(target).partition("#")
            place = (root / page.parent / path).resolve()
            if place.is_dir():
                if (place / "README.md").relative_to(root) in taken:
                    return f"{bang}[{text}]({path.rstrip('/')}/README.md{'#' + anchor if anchor else ''})"
                return text if "`" in text else f"`{text}`"
            inside = place.relative_to(root)
            if inside in taken and inside.suffix == ".ipynb":
                return f"{bang}[{text}]({Path(path).with_suffix('.md')})"
            if inside not in taken:
                copy = source / inside
                copy.parent.mkdir(parents=True, exist_ok=True)
                if inside.suffix == ".md":  # a page that the site leaves out
                    return text
                shutil.copyfile(place, copy)
                if not inside.suffix:  # without one MyST takes the path for the name of a page
                    shutil.copyfile(place, copy.with_name(copy.name + ".txt"))
                    return f"{bang}[{text}]({path}.txt)"
            return f"{bang}[{text}]({target})"

        copy = (source / page).with_suffix(".md")
        copy.parent.mkdir(parents=True, exist_ok=True)
        parts = [(part if is_code else rewritten(part, resolve), is_code) for part, is_code in parts_of(text_of(root / page))]
        copy.write_text("\n".join(text for text, _ in with_one_title(parts)) + "\n")
    return pages
