"""Makes the source of the site from the documentation, and checks the site: site.py source FOLDER | site.py check FOLDER

The pages are those of the repository. Links that lead out of them lead to the repository.
"""

import html.parser
import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

HOME = re.search(r'^repository = "(.*)"', Path("Cargo.toml").read_text(encoding="utf-8"), re.M)[1]
# Pages of the root, with their names in the book.
ROOT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")

BOOK = f"""[book]
title = "qdissect"
language = "en"
src = "src"

[build]
create-missing = false

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
git-repository-url = "{HOME}"
no-section-label = true

[output.html.search]
limit-results = 20
"""


def target(page, link):
    """Where a link of a page leads in the book."""
    split = urlsplit(link)
    if split.scheme or not split.path:
        return link
    anchor = f"#{split.fragment}" if split.fragment else ""
    there = Path(os.path.normpath(page.parent / unquote(split.path)))
    if there.is_dir() and (there / "README.md").exists() and there.parts[0] == "docs":
        there = there / "README.md"
    # The list of pages is the side bar of the book, and no page of it.
    in_book = there.parts[0] == "docs" and there.is_file() and there.name != "SUMMARY.md" or there.as_posix() in ROOT
    if not in_book:
        kind = "tree" if there.is_dir() else "blob"
        return f"{HOME}/{kind}/main/{there.as_posix()}{anchor}"
    return Path(os.path.relpath(place(there), place(page).parent)).as_posix() + anchor


def place(page):
    """The place of a page in the book. A README is what its folder shows first."""
    there = page.relative_to("docs") if page.parts[0] == "docs" else page
    return there.with_name("index.md") if there.name == "README.md" else there


def source(folder):
    src = folder / "src"
    src.mkdir(parents=True)
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    pages = [Path(name) for name in ROOT] + sorted(Path("docs").rglob("*.md"))
    for page in pages:
        out = src / place(page)
        out.parent.mkdir(parents=True, exist_ok=True)
        fenced, lines = False, []
        for line in page.read_text(encoding="utf-8").splitlines():
            fenced ^= line.lstrip().startswith("```")
            # Marks for the tests of the documentation are no reader's business.
            if not fenced and re.fullmatch(r"\s*<!-- (not run|saved as|from):.*-->", line):
                continue
            lines.append(line if fenced else LINK.sub(lambda it: it[1] + target(page, it[2]) + it[3], line))
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copytree("docs/pictures", src / "pictures")
    shutil.copytree("docs/metrics", src / "metrics")
    summary = (src / "SUMMARY.md").read_text(encoding="utf-8")
    listed = {it[2] for it in LINK.finditer(summary)}
    missing = [place(page).as_posix() for page in pages if place(page).as_posix() not in listed | {"SUMMARY.md"}]
    if missing:
        sys.exit(f"docs/SUMMARY.md does not list {', '.join(missing)}")


class Page(html.parser.HTMLParser):
    """Links and anchors of a page, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loads = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif values.get("src") or tag == "link" and values.get("href"):
            self.loads.append(values.get("src") or values["href"])


def check(folder):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    faults = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            split = urlsplit(link)
            if split.scheme == "data":
                continue
            if split.scheme or split.netloc:
                faults += [f"{path}: loads {link}"] if link in page.loads else []
                continue
            there = (path.parent / unquote(split.path)).resolve() if split.path else path.resolve()
            there = there / "index.html" if there.is_dir() else there
            if not there.exists():
                faults.append(f"{path}: {link} leads nowhere")
            elif split.fragment and there.suffix == ".html" and path.name not in ("print.html", "demo.html"):
                known = pages.get(folder / there.relative_to(folder.resolve()))
                if known and unquote(split.fragment) not in known.anchors:
                    faults.append(f"{path}: {link} has no such heading")
    for sheet in folder.rglob("*.css"):
        if re.search(r"url\(['\"]?(https?:)?//|@import", sheet.read_text(encoding="utf-8")):
            faults.append(f"{sheet}: loads from elsewhere")
    print("\n".join(faults[:50]) or f"{len(pages)} pages, no broken links")
    sys.exit(bool(faults))


{"source": source, "check": check}[sys.argv[1]](Path(sys.argv[2]))
