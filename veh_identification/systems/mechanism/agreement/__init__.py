"""What the sensors of a mechanism say against each other, by its geometry alone; then its energy.

Those that show the independent coordinates say where every point is, and so what all others must
show: lengths and angles at a time, and rates over the time between two of them. No masses and no
forces are needed. Where they disagree, the one mistake is looked for that explains it: units,
signs, zeros, scales, clocks, lengths of bodies. Where they agree, the work of the drives is held
against the energy of masses and springs. One function for recordings and nodes.
"""
