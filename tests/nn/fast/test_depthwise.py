from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch.func import grad, vmap

from dartboard.nn.fast.depthwise import depthwise, is_native, norm_relu_depthwise
from helpers import networks

SIZES = [(1, 1), (1, 4), (2, 2), (3, 3), (3, 5), (4, 4), (5, 5), (8, 8), (9, 9), (9, 12), (16, 7)]
CHANNELS = 3


def leaf(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def native(x, weight, *, stride, dilation):
    """What torch's own operator gives for the repeated input."""
    padding = dilation * (weight.shape[-1] // 2)
    tiled = x.repeat(1, weight.shape[0] // x.shape[1], 1, 1)
    return F.conv2d(tiled, weight, None, stride, padding, dilation, weight.shape[0])


def derivatives(function, inputs, direction):
    """The output, gradients of a curved loss, and the product of its Hessian with a vector."""
    y = function(*inputs)
    loss = (y.sin() * direction).sum()
    first = torch.autograd.grad(loss, inputs, create_graph=True)
    steps = [torch.cos(torch.arange(g.numel(), dtype=g.dtype)).view_as(g) for g in first]
    second = torch.autograd.grad([(g * step).sum() for g, step in zip(first, steps, strict=True)], inputs)
    names = [f"{kind} {index}" for kind in ("gradient", "hessian") for index in range(len(inputs))]
    return {"output": y} | dict(zip(names, (*first, *second), strict=True))


@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize(("stride", "dilation"), list(product((1, 2), (1, 2))))
@pytest.mark.parametrize("kernel", [3, 5, 7])
def test_it_is_torchs_own_convolution(kernel, stride, dilation, copies):
    for height, width in SIZES:
        check(kernel, stride, dilation, copies, height, width)


def check(kernel, stride, dilation, copies, height, width):
    torch.manual_seed(0)
    geometry = {"stride": stride, "dilation": dilation}
    inputs = [leaf(2, CHANNELS, height, width), leaf(copies * CHANNELS, 1, kernel, kernel)]
    direction = torch.randn(2, copies * CHANNELS, -(-height // stride), -(-width // stride)).double()
    found = derivatives(lambda x, w: depthwise(x, w, **geometry), inputs, direction)
    expected = derivatives(lambda x, w: native(x, w, **geometry), inputs, direction)
    networks.assert_equal(found, expected, within=1e-9)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=["rows", "channels"])
@pytest.mark.parametrize("kernel", [3, 5])
def test_the_layout_of_the_input_does_not_matter(kernel, layout):
    torch.manual_seed(0)
    x = torch.randn(2, 4, 8, 6, dtype=torch.float64).to(memory_format=layout)
    variants = {"whole": x, "transposed": x.transpose(2, 3), "part": x[:, :3, 1:7, ::2]}
    for value, stride, dilation in product(variants.values(), (1, 2), (1, 2)):
        inputs = [value.detach().requires_grad_(), leaf(2 * value.shape[1], 1, kernel, kernel)]
        geometry = {"stride": stride, "dilation": dilation}
        direction = torch.ones_like(native(*inputs, **geometry))
        found = derivatives(lambda x, w, g=geometry: depthwise(x, w, **g), inputs, direction)
        expected = derivatives(lambda x, w, g=geometry: native(x, w, **g), inputs, direction)
        networks.assert_equal(found, expected, within=1e-9)


@pytest.mark.parametrize("wanted", ["input", "weight"])
def test_a_gradient_that_is_not_asked_for_is_not_computed(wanted):
    x, weight = leaf(2, 3, 8, 8), leaf(6, 1, 5, 5)
    (weight if wanted == "input" else x).requires_grad_(False)
    y = depthwise(x, weight)
    with networks.Calls() as calls:
        y.sum().backward()
    assert (x.grad is None, weight.grad is None) == (wanted == "weight", wanted == "input")
    forward_like = calls.count["aten::convolution"]  # how the gradient in the input is computed
    kernel_like = calls.count["aten::convolution_backward"]  # how that in the kernel is
    assert (forward_like > 0, kernel_like > 0) == (wanted == "input", wanted == "weight")


SLOW = [(3, 1, 2), (5, 1, 1), (5, 2, 1), (5, 2, 2), (7, 1, 1), (7, 2, 1)]


@pytest.mark.parametrize(("kernel", "stride", "dilation"), SLOW)
def test_wide_and_dilated_kernels_avoid_the_slow_backward(kernel, stride, dilation):
    """Torch's own backward is slow for exactly these: none may be asked of it."""
    x, weight = leaf(2, 3, 12, 12), leaf(3, 1, kernel, kernel)
    y = depthwise(x, weight, stride=stride, dilation=dilation)
    with networks.Arguments("aten::convolution_backward") as seen:
        y.sum().backward()
    for _, _, used, _, used_stride, _, used_dilation, *_, wanted in seen.found:
        assert list(used_dilation) == [1, 1]
        if wanted[1]:
            assert used.shape[-1] <= 3
        if wanted[0]:
            assert list(used_stride) == [2, 2]


def test_other_devices_use_the_native_operator():
    assert not is_native(torch.empty(2, 3, 8, 8))
    with torch.device("meta"):
        x, weight = torch.empty(2, 3, 8, 8), torch.empty(6, 1, 5, 5)
    assert is_native(x)
    assert depthwise(x, weight, stride=2).shape == (2, 6, 4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert is_native(torch.empty(2, 3, 8, 8))
        assert depthwise(torch.ones(2, 3, 8, 8), torch.ones(3, 1, 3, 3)).dtype == torch.bfloat16


def test_gradients_for_each_example_at_once():
    torch.manual_seed(0)
    x, weight = leaf(4, 3, 6, 6).detach(), leaf(6, 1, 5, 5).detach()

    def loss(weight, x):
        return depthwise(x[None], weight).sin().sum()

    found = vmap(grad(loss), in_dims=(None, 0))(weight, x)
    expected = torch.stack([grad(loss)(weight, example) for example in x])
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("kernel", [3, 5, 7])
def test_norm_relu_and_convolution_are_the_three_in_a_row(kernel, dilation, affine):
    torch.manual_seed(0)
    padding = dilation * (kernel // 2)
    for height, width in SIZES:
        inputs = [leaf(3, 4, height, width), leaf(4, 1, kernel, kernel)]
        inputs += [leaf(4), leaf(4)] if affine else []

        def fused(x, weight, scale=None, shift=None):
            return norm_relu_depthwise(x, scale, shift, weight, eps=1e-5, dilation=dilation)[0]

        def plain(x, weight, scale=None, shift=None):
            y = F.batch_norm(x, None, None, scale, shift, True).relu()
            return F.conv2d(y, weight, None, 1, padding, dilation, 4)

        direction = torch.randn(3, 4, height, width, dtype=torch.float64)
        found, expected = (derivatives(function, inputs, direction) for function in (fused, plain))
        networks.assert_equal(found, expected, within=1e-9)


def test_norm_relu_and_convolution_give_the_statistics_of_the_batch():
    x = torch.randn(3, 4, 5, 6, dtype=torch.float64)
    _, mean, inverse = norm_relu_depthwise(x, None, None, leaf(4, 1, 3, 3), eps=1e-5, dilation=1)
    torch.testing.assert_close(mean, x.mean(dim=(0, 2, 3)))
    torch.testing.assert_close(inverse, (x.var(dim=(0, 2, 3), correction=0) + 1e-5).rsqrt())
    assert not mean.requires_grad
