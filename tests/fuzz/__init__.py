"""Fuzzing that goes on: what stands in `corpus/`, changed here and there by hypothesis, goes into each hole there is.

`make test` tries the same 200 examples of each target every time; `make soak` (10 minutes in all) and `make fuzz
SECONDS=` (for each) have other examples each time. Hypothesis and not Atheris: what parses here (msgspec, libyaml, RE2)
is compiled without coverage to guide by, and Atheris has no wheel for every Python and machine that developers use. A
case that is found becomes a unit test beside the module that was wrong; what made it reachable may join the corpus,
which stays small.
"""
