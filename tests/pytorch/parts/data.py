"""Numbers whose sums over all ranks are exact in their type, and differ between ranks, rounds and places."""
import torch

# Integers up to here are exact.
EXACT = {torch.float64: 1 << 20, torch.float32: 1 << 20, torch.float16: 2048, torch.bfloat16: 256, torch.uint8: 255, torch.int8: 127,
         torch.int32: 1 << 20, torch.int64: 1 << 20, torch.complex64: 1 << 20}
EXACT.update({getattr(torch, name): most for name, most in (("float8_e4m3fn", 16), ("float8_e5m2", 8)) if hasattr(torch, name)})
MASK = (1 << 32) - 1


def numbers(env, rank, turn, count, dtype, below=None):
    """below: the integers are 0 to below - 1; without it, the most for a sum of all ranks that is exact."""
    if dtype == torch.bool:
        return numbers(env, rank, turn, count, torch.uint8, 2).bool()
    below = below or min(251, max(2, EXACT[dtype] // env.world + 1))
    # A hash of place, rank and turn: no period that a slice or chunk could share.
    mixed = torch.arange(count, device=env.device, dtype=torch.int64).mul_(2654435761).add_(rank * 97561 + turn * 7368787)
    mixed.bitwise_and_(MASK)
    mixed.bitwise_xor_(mixed >> 15).mul_(668265263).bitwise_and_(MASK)
    return mixed.bitwise_right_shift_(13).remainder_(below).to(dtype)


def wide(tensor):
    """In a type in which sums and products of a few are exact."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def poison(tensor):
    """What no result contains, or hardly any: the numbers above are not negative."""
    if tensor.dtype == torch.bool:
        return tensor.zero_()
    if "float8" in str(tensor.dtype):
        tensor.view(torch.uint8).fill_(0x77)
        return tensor
    return tensor.fill_(255 if tensor.dtype == torch.uint8 else -1)


def join(parts):
    """torch.cat for all types."""
    dtype = parts[0].dtype
    if "float8" in str(dtype):
        return torch.cat([part.view(torch.uint8) for part in parts]).view(dtype)
    return torch.cat(parts)
