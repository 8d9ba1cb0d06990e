"""What all identification nodes share."""
