"""The steps of `veh-id demo`: each simulates, runs the real code and compares with the truth."""

#: The parts, in the order in which the overview shows them.
NAMES = ('fusion', 'humanoid', 'car', 'parallel', 'four-bar', 'buggy')
