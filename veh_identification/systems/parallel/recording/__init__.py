"""From bags to whole periods of leg lengths and forces."""
