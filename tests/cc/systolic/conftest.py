import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[3] / "examples" / "systolic")]
