"""One self-contained HTML page for every identification and every observer run.

`content` holds plain data, `summary` turns it into sentences, `figures_*` into plotly figures,
`page` and `html` into a file that needs no network. `identification` and `observation` make the
content from results; `hooks` is what the commands call.
"""
