// Stacks and switching. The switch saves what the calling convention says a callee keeps and jumps
// (a `ret` would mispredict on every switch); other processors use ucontext. Next on the path:
// worker.cc.
#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#if defined(WEFT_HOST_UCONTEXT) || !(defined(__x86_64__) || defined(__aarch64__))
#define WEFT_HOST_USE_UCONTEXT 1
#include <ucontext.h>
#endif

namespace weft::hiphost {

extern "C" void weft_host_switch(void** save, void* to) __attribute__((visibility("hidden")));

#if !defined(WEFT_HOST_USE_UCONTEXT) && defined(__x86_64__)
asm(R"(
.text
.hidden weft_host_switch
.globl weft_host_switch
.type weft_host_switch, @function
weft_host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size weft_host_switch, . - weft_host_switch
)");
#elif !defined(WEFT_HOST_USE_UCONTEXT)
asm(R"(
.text
.hidden weft_host_switch
.globl weft_host_switch
.type weft_host_switch, %function
weft_host_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  br x30
.size weft_host_switch, . - weft_host_switch
)");
#endif

namespace {

constexpr size_t kGuardBytes = 4096;
// Tops of neighbouring stacks are shifted against each other, else all hot frames would share one
// cache set.
constexpr unsigned kStackColours = 32;
constexpr size_t kColourBytes = 64;

std::atomic<unsigned> next_colour{0};

#if defined(WEFT_HOST_USE_UCONTEXT)
void place_entry(Fiber& fiber, char*, void (*entry)()) {
  auto* context = reinterpret_cast<ucontext_t*>(fiber.stack);
  getcontext(context);
  context->uc_stack.ss_sp = fiber.stack + sizeof(ucontext_t);
  context->uc_stack.ss_size = fiber.stack_bytes - sizeof(ucontext_t);
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  fiber.position = context;
}
#elif defined(__x86_64__)
void place_entry(Fiber& fiber, char* top, void (*entry)()) {
  constexpr int kSavedRegisters = 6;
  auto* slot = reinterpret_cast<void**>(top - sizeof(void*));
  *slot = nullptr;  // where a caller's return address would be: ends back traces
  *--slot = reinterpret_cast<void*>(entry);
  for (int i = 0; i < kSavedRegisters; ++i) *--slot = nullptr;
  fiber.position = slot;
}
#else
void place_entry(Fiber& fiber, char* top, void (*entry)()) {
  constexpr size_t kFrameBytes = 160, kLinkOffset = 88;
  char* frame = top - kFrameBytes;
  memset(frame, 0, kFrameBytes);
  memcpy(frame + kLinkOffset, &entry, sizeof entry);
  fiber.position = frame;
}
#endif

}  // namespace

#if defined(WEFT_HOST_USE_UCONTEXT)
extern "C" void weft_host_switch(void** save, void* to) {
  ucontext_t here;
  *save = &here;
  swapcontext(&here, static_cast<ucontext_t*>(to));
}
#endif

Fiber* new_fiber(size_t stack_bytes, void (*entry)()) {
  void* at = mmap(nullptr, stack_bytes + kGuardBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  // Fails only when the process has too many mappings: then the stack works without its guard.
  mprotect(at, kGuardBytes, PROT_NONE);
  auto* fiber = new Fiber;
  fiber->stack = static_cast<char*>(at) + kGuardBytes;
  fiber->stack_bytes = stack_bytes;
#if defined(WEFT_HOST_TSAN)
  fiber->tsan = __tsan_create_fiber(0);
#endif
#if defined(WEFT_HOST_ASAN)
  __lsan_register_root_region(fiber->stack, fiber->stack_bytes);
#endif
  rewind_fiber(*fiber, entry);
  return fiber;
}

void rewind_fiber(Fiber& fiber, void (*entry)()) {
  const size_t shift = next_colour.fetch_add(1, std::memory_order_relaxed) % kStackColours;
  const uintptr_t top = reinterpret_cast<uintptr_t>(fiber.stack) + fiber.stack_bytes;
  sanitize::unpoison(fiber.stack, fiber.stack_bytes);
  place_entry(fiber, reinterpret_cast<char*>((top & ~uintptr_t{15}) - shift * kColourBytes), entry);
  fiber.asan_fake_stack = nullptr;
  fiber.polled_count = 0;
}

void delete_fiber(Fiber* fiber) {
#if defined(WEFT_HOST_TSAN)
  __tsan_destroy_fiber(fiber->tsan);
#endif
#if defined(WEFT_HOST_ASAN)
  __lsan_unregister_root_region(fiber->stack, fiber->stack_bytes);
#endif
  munmap(fiber->stack - kGuardBytes, fiber->stack_bytes + kGuardBytes);
  delete fiber;
}

void adopt_thread([[maybe_unused]] Fiber& fiber) {
#if defined(WEFT_HOST_TSAN)
  fiber.tsan = __tsan_get_current_fiber();
#endif
#if defined(WEFT_HOST_ASAN)
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* stack = nullptr;
  pthread_attr_getstack(&attributes, &stack, &fiber.stack_bytes);
  pthread_attr_destroy(&attributes);
  fiber.stack = static_cast<char*>(stack);
#endif
}

void switch_fiber(Fiber& from, Fiber& to, [[maybe_unused]] bool from_ends) {
#if defined(WEFT_HOST_TSAN)
  constexpr unsigned kNoSync = 1;  // a switch is not an order the program may rely on
  __tsan_switch_to_fiber(to.tsan, kNoSync);
#endif
#if defined(WEFT_HOST_ASAN)
  __sanitizer_start_switch_fiber(from_ends ? nullptr : &from.asan_fake_stack, to.stack,
                                 to.stack_bytes);
#endif
  weft_host_switch(&from.position, to.position);
  entered_fiber(from);
}

void entered_fiber([[maybe_unused]] Fiber& self) {
#if defined(WEFT_HOST_ASAN)
  __sanitizer_finish_switch_fiber(self.asan_fake_stack, nullptr, nullptr);
#endif
}

}  // namespace weft::hiphost
