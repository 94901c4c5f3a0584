// The lanes of a block on a GPU, and the kernel that runs a body on them. Owns: what
// src/platform/README.md says of Block, block_kernel and kernel_address. Included by the
// device_platform.h of a GPU platform, behind the primitives it takes from there: block_sync,
// lane_drain, SharedWord, kBodyRunsHere, WEFT_KERNEL_BOUNDS and WEFT_KERNEL_ARGUMENT.
#pragma once

namespace weft::platform {

// What the lanes of one block share, beside the scratch.
struct BlockShared {
  uint32_t stop;
};

extern __shared__ char weft_scratch[];

class Block {
 public:
  explicit WEFT_DEV Block(BlockShared* shared) : shared_(shared) {}

  WEFT_DEV unsigned index() const { return blockIdx.x; }
  WEFT_DEV unsigned grid() const { return gridDim.x; }
  WEFT_DEV unsigned lane() const { return threadIdx.x; }
  WEFT_DEV unsigned width() const { return blockDim.x; }
  WEFT_DEV bool leader() const { return threadIdx.x == 0; }

  WEFT_DEV void sync() const { block_sync(); }
  WEFT_DEV void drain() const { lane_drain(); }

  template <class Number, class F>
  WEFT_DEV void each(Number n, F f) const {
    WEFT_ROLLED
    for (auto i = Number(lane()); i < n; i += Number(width())) f(i);
  }
  template <int kCount, class F>
  WEFT_DEV void each_batch(uint32_t n, F f) const {
    WEFT_ROLLED
    for (uint32_t i = lane(); i < n; i += kCount * width())
      f.template operator()<kCount>(i, width(), n - i);
  }

  WEFT_DEV void* scratch() const { return weft_scratch; }

  // True for the first lane that stops the block.
  WEFT_DEV bool stop() const { return atomicExch(&shared_->stop, 1u) == 0; }
  WEFT_DEV bool stopped() const { return *stop_word() != 0; }

 private:
  WEFT_DEV SharedWord* stop_word() const { return (SharedWord*)&shared_->stop; }

  BlockShared* shared_;
};

template <class Body, class Args>
__global__ void WEFT_KERNEL_BOUNDS(Body) block_kernel(const WEFT_KERNEL_ARGUMENT Args args) {
  static_assert(Body::kName[0] != 0, "a kernel has a name");  // used here, or clang warns
  if constexpr (kBodyRunsHere<Body>) {
    __shared__ BlockShared shared;
    if (threadIdx.x == 0) shared.stop = 0;
    __syncthreads();
    Body{}(Block(&shared), args);
  } else {
    __builtin_trap();
  }
}

template <class Body, class Args>
const void* kernel_address() {
  return reinterpret_cast<const void*>(&block_kernel<Body, Args>);
}

}  // namespace weft::platform
