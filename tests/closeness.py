"""Float outputs of whole networks beside onnxruntime's."""

import numpy as np


def same_meaning(got, theirs):
    """Per element, whether two float32 evaluations of one network agree to 2e-5.

    Of the element, or of the output's root mean square. Both sides round, in orders of their own,
    and nobody bounds theirs: this shows that the network was understood. How close the emitted code
    must be is checked layer by layer, each within its derived bound (`RunResult.floats`).
    """
    wide = theirs.astype(np.float64)
    rms = np.sqrt(np.mean(np.square(wide)))
    return np.abs(got - wide) <= 2e-5 * np.maximum(np.abs(wide), rms)
