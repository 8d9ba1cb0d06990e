"""placeholder while others are written."""
def add_parser(verbs):
    """x."""
