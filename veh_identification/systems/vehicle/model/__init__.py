"""The car as a multibody model."""
