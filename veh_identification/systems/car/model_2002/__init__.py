"""The Lagrange car of Venture 2002."""
