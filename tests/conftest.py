"""What holds for all tests."""

import os

from hypothesis import settings

# The same examples every time, so that a commit that passes here passes everywhere; nothing is
# timed. For a wider search: HYPOTHESIS_PROFILE=search pytest ...
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("search", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
