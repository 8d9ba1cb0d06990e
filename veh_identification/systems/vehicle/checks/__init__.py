"""Is a recording of the observed car, or what its sensors say now, what it says it is?"""
