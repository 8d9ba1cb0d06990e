"""What `make site` does to the documents beyond Markdown (a hook of mkdocs)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

#: Code of a sentence that is kept on one line: a flag broken at its hyphen cannot be read.
WHOLE = 26


def titled(text: str, titles: dict[str, str]) -> str:
    """Links that show a file's name, as one reads them in the repository, show its title."""
    return re.sub(
        r'\[(\w+\.md)\]\((\1(?:#[\w-]*)?)\)',
        lambda link: f'[{titles.get(link[1], link[1])}]({link[2]})',
        text,
    )


def unbroken(page: str) -> str:
    """Short code within sentences marked, so that lines do not break inside of it."""
    return re.sub(
        r'<code>([^<]+)</code>',
        lambda code: f'<code class="whole">{code[1]}</code>' if len(code[1]) <= WHOLE else code[0],
        page,
    )


@cache
def titles_of(folder: Path) -> dict[str, str]:
    """The first heading of every document by the name of its file."""
    return {
        path.name: path.read_text('utf-8').split('\n', 1)[0].removeprefix('# ')
        for path in sorted(folder.glob('*.md'))
    }


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Called by mkdocs with each document."""
    return titled(markdown, titles_of(Path(config['docs_dir'])))


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with each page."""
    return unbroken(html)
