"""The one description of a car: `identify car`, `observe vehicle`, `design car`, their nodes.

`model` declares every entry of a file, `files` reads one, `conversion` turns what one of them
needs into what the other knows, `identified` writes what an identification has found.
"""
