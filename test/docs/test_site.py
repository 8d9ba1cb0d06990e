"""What the site shows of the documents."""

from __future__ import annotations

import sys

from fences import ROOT

sys.path.insert(0, str(ROOT / 'tools'))
from pages import WHOLE, titled, titles_of, unbroken


def test_links_show_titles_and_still_lead_to_the_file() -> None:
    titles = titles_of(ROOT / 'docs')
    assert titles['car.md'] == 'An instrumented car'
    shown = titled('see [car.md](car.md#tyres), [SECURITY.md](../SECURITY.md)', titles)
    assert shown == 'see [An instrumented car](car.md#tyres), [SECURITY.md](../SECURITY.md)'


def test_a_flag_is_not_broken_and_a_long_path_is() -> None:
    assert unbroken('<p><code>--strict</code></p>') == '<p><code class="whole">--strict</code></p>'
    long = f'<code>{"x" * (WHOLE + 1)}</code>'
    assert unbroken(long) == long
    block = '<pre><code>a\n<span>b</span></code></pre>'
    assert unbroken(block) == block


def test_every_document_begins_with_its_title() -> None:
    assert all(title and not title.startswith('#') for title in titles_of(ROOT / 'docs').values())
