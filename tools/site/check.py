#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a built site: every link to a file of it, and every anchor, is there; nothing is loaded from elsewhere; every page is found from the front
page; the search knows the pages; the version is that of the tree.

usage: check.py SITE VERSION    SITE has VERSION/index.html
       check.py --self-test     check that violations are seen
"""
import json
import re
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors, self.text = [], [], set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(filter(None, [attributes.get("id"), attributes.get("name") if tag == "a" else None]))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "index", "search", "next", "prev"):
            self.loads.append(attributes["href"])
        elif attributes.get("src"):
            self.loads.append(attributes["src"])

    def handle_data(self, data):
        self.text.append(data)


def problems_of(site, version):
    home = site / version
    if not (home / "index.html").is_file():
        return [f"{home} has no index.html"], 0
    found = []
    pages = {path: Page(path) for path in home.rglob("*.html")}
    reached = set()
    for path, page in pages.items():
        where = path.relative_to(site)
        for link, is_loaded in [(link, False) for link in page.links] + [(link, True) for link in page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if is_loaded and parts.scheme != "data":
                    found.append(f"{where} loads {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{where}: {link} is not there")
                continue
            if target.suffix == ".html" and not is_loaded and target != path:
                reached.add(target)
            if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where}: {link} has no such anchor")
    generated = {"genindex.html", "search.html", "py-modindex.html"}
    found += [f"no page leads to {path.relative_to(site)}" for path in pages if path.resolve() not in reached and path.name not in generated | {"index.html"}]
    index = home / "searchindex.js"
    titles = len(re.findall(r'"titles":\[(.*?)\]', index.read_text())) if index.is_file() else 0
    known = json.loads(re.search(r'"docnames":(\[.*?\])', index.read_text())[1]) if titles else []
    found += [f"the search does not know {path.relative_to(home)}" for path in pages
              if path.name not in generated and str(path.relative_to(home).with_suffix("")) not in known]
    versions = site / "versions.js"
    if not versions.is_file() or f'"{version}"' not in versions.read_text():
        found.append(f"versions.js does not list {version}")
    newest = re.search(r'\["([^"]*)"', versions.read_text())[1] if versions.is_file() else version
    if f"{newest}/index.html" not in (site / "index.html").read_text():
        found.append(f"index.html does not lead to {newest}")
    return found, len(pages)


CASES = [  # what a page of a small site holds, is it legal?
    ('<a href="b.html#there">b</a>', True), ('<a href="https://example.invalid">x</a>', True), ('<a href="#top">x</a><p id="top">', True),
    ('<a href="absent.html">x</a>', False), ('<a href="b.html#absent">x</a>', False), ('<script src="https://example.invalid/x.js"></script>', False),
    ('<img src="absent.svg">', False), ('<link rel="stylesheet" href="https://example.invalid/x.css">', False),
]


def self_test():
    wrong = 0
    for body, legal in CASES + [(None, False)]:
        with tempfile.TemporaryDirectory() as name:
            site = Path(name)
            (site / "1.0").mkdir()
            (site / "index.html").write_text('<a href="1.0/index.html">')
            (site / "versions.js").write_text('window.KIZAMI_VERSIONS = ["1.0"];')
            (site / "1.0/index.html").write_text('<a href="b.html">b</a>' + (body or ""))
            (site / "1.0/b.html").write_text('<p id="there">')
            (site / "1.0/searchindex.js").write_text('Search.setIndex({"docnames":["index","b"],"titles":["a","b"]})')
            if body is None:  # a page that no page leads to
                (site / "1.0/c.html").write_text("")
            found, _ = problems_of(site, "1.0")
            if bool(found) == legal:
                wrong += 1
                print(f"{body!r}: expected {'no problem' if legal else 'a problem'}, got {found}")
    print(f"self-test: {len(CASES) + 1} cases, {wrong} wrong")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found, count = problems_of(Path(sys.argv[1]).resolve(), sys.argv[2])
    print("\n".join(found + [f"{count} pages, {len(found)} problems"]))
    return 1 if found or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
