import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the samples, for every test here
