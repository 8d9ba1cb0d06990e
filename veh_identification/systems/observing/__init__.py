"""What all observers share: options, the offline run, figures and lines about it."""
