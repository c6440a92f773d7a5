"""Hardware facts as data: `devices.json` holds a source and a confidence for every value."""
