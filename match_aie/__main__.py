"""`python -m match_aie` is `match-aie`."""

from match_aie.cli import main

if __name__ == "__main__":
    main()
