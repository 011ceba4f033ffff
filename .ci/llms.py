"""Writes llms.txt and llms-full.txt: a list of all pages with a line each, and all pages in one file.

Usage: llms.py OUTPUT CATALOG... Each catalog is a folder of DocC, whose root page has the metadata TechnologyRoot or
begins with its symbol; the first one gives the title. Links between pages are DocC's (doc:Name). Fails if a page is
missing from the topics of its root page.
"""

import pathlib
import re
import sys


def title_and_summary(text):
    """The heading without its markup, and the first paragraph: of a long one the first sentence."""
    heading, rest = text.split("\n", 1)
    rest = re.sub(r"^\s*@Metadata \{.*?^\}\s*", "", rest, flags=re.DOTALL | re.MULTILINE)
    paragraph = next(part for part in rest.strip().split("\n\n") if not part.startswith("#"))
    summary = " ".join(paragraph.split()).removeprefix("**Context.** ")
    if len(summary) > 200:
        summary = summary.split(". ")[0].rstrip(".") + "."
    return heading.lstrip("# ").replace("`", ""), summary


def listed(root):
    """The sections of the root page's topics, each with the names of its pages."""
    topics = root.split("## Topics\n", 1)[1]
    for section in topics.split("### ")[1:]:
        heading, links = section.split("\n", 1)
        if names := re.findall(r"^- <?\[?.*?doc:([\w-]+)", links, re.MULTILINE):
            yield heading, names


def read(catalog, prefix):
    """The root page, the sections with their pages, and where a page's address begins."""
    pages = {path.stem: path.read_text() for path in pathlib.Path(catalog).rglob("*.md")}
    [root] = [name for name in pages if name == pathlib.Path(catalog).stem]
    sections = list(listed(pages[root]))
    names = [name for _, section in sections for name in section]
    if sorted([root, *names]) != sorted(pages):
        sys.exit(f"{catalog}: each page must stand in Topics once: {sorted(set(pages) ^ {root, *names})}")
    return root, pages, sections, f"{prefix}documentation/{root.lower()}"


def main(output, catalogs):
    short, full = [], []
    for index, catalog in enumerate(catalogs):
        root, pages, sections, address = read(catalog, "client/" if index else "")
        title, summary = title_and_summary(pages[root])
        short.append(f"## [{title}]({address})\n\n{summary}" if index else f"# {title}\n\n> {summary}")
        for heading, names in sections:
            rows = []
            for name in names:
                name_title, line = title_and_summary(pages[name])
                rows.append(f"- [{name_title}]({address}/{name.lower()}): {line}")
            short.append(f"{'###' if index else '##'} {heading}\n\n" + "\n".join(rows))
        for name in [root, *(name for _, section in sections for name in section)]:
            text = pages[name].split("\n## Topics\n")[0].strip()
            full.append(re.sub(r"\]\(doc:([\w-]+)", lambda link: f"]({address}/{link[1].lower()}", text))
    folder = pathlib.Path(output)
    (folder / "llms.txt").write_text("\n\n".join(short) + "\n")
    (folder / "llms-full.txt").write_text("\n\n".join(full) + "\n")


main(sys.argv[1], sys.argv[2:])
