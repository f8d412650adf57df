# SPDX-License-Identifier: MIT
"""Products on several devices. Without a device: what is refused, and how."""

import kizami
import kizami.multi
import numpy as np
import pytest
from conftest import DTYPES, random, same_bits

NUM_DEVICES = kizami._core.num_devices()


@pytest.mark.skipif(NUM_DEVICES > 0, reason="there is a device")
def test_no_device_is_said():
    a = np.ones((3, 4))
    with pytest.raises(kizami.UnsupportedError, match="CUDA"):
        kizami.multi.matmul(a, a.T)
    with pytest.raises(kizami.UnsupportedError, match="CUDA"):
        kizami.multi.matmul(a, a.T, devices=[0, 1])


def test_bad_arguments_are_named():
    a = np.ones((3, 4))
    with pytest.raises(kizami.InvalidArgumentError, match="b has 3 rows"):
        kizami.multi.matmul(a, a, devices=[0])
    with pytest.raises(kizami.InvalidArgumentError, match="a is a stack"):
        kizami.multi.matmul(np.ones((2, 3, 4)), np.ones((4, 5)), devices=[0])
    with pytest.raises(kizami.InvalidArgumentError, match="out has shape"):
        kizami.multi.matmul(a, a.T, np.empty((2, 2)), devices=[0])
    with pytest.raises((kizami.InvalidArgumentError, kizami.UnsupportedError), match="0 devices|without CUDA"):
        kizami.multi.matmul(a, a.T, devices=[])


@pytest.mark.skipif(NUM_DEVICES == 0, reason="no CUDA device")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("devices", [[0], [0, 0], list(range(min(NUM_DEVICES, 8)))])
def test_bits_are_those_of_the_host(rng, dtype, devices):
    a, b = random(rng, (70, 90), dtype), random(rng, (90, 50), dtype)
    want, of_host = kizami.matmul(a, b, return_outcome=True)
    got, outcome = kizami.multi.matmul(a, b, devices=devices)
    assert same_bits(got, want)
    assert outcome.bound == of_host.bound and outcome.rung == of_host.rung
    out = np.empty_like(want)
    assert kizami.multi.matmul(a, b, out, devices=devices)[0] is out
    assert same_bits(out, want)
