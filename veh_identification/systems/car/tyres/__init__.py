"""Tyres from recordings with wheel forces: stiffness, friction, Magic Formula, `.tir` files."""
