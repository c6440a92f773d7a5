"""Model files that mean harm: bombs, mutations, and a child process to try them in."""

from tests.hostile.attempt import Attempt, attempt, warm
from tests.hostile.bombs import bombs
from tests.hostile.case import Case
from tests.hostile.mutations import mutations
from tests.hostile.samples import samples

__all__ = ["Attempt", "Case", "attempt", "bombs", "mutations", "samples", "warm"]
