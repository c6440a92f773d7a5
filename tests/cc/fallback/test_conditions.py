"""`If` on what is computed at run time: emitted code takes the branch that onnxruntime takes."""

import numpy as np
import onnxruntime as ort
import pytest

import match_aie as match
from tests.networks import dynamic


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return match.compile(dynamic.verified(), "CPU").write(tmp_path_factory.mktemp("if") / "net")


@pytest.mark.parametrize("size", [0.1, 3.0])
def test_takes_the_branch(project, size):
    rng = np.random.default_rng(5)
    session = ort.InferenceSession(dynamic.verified().SerializeToString())
    x = np.float32(size * rng.standard_normal((1, dynamic.WIDTH)))
    (want,) = session.run(None, {"x": x})
    (own,) = project.run({"x": x}).outputs.values()
    np.testing.assert_allclose(own, want, rtol=0, atol=1e-5 * np.abs(want).max())
    assert (want < 0).any() == (size > 1)  # results of the first layer are not negative
