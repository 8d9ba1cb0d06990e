"""What a humanoid identification leaves."""
