"""The observers on the independent road car and on the buggy.

`veh-id bench observe`, `observe_starts` and `observe_cases`.
"""
