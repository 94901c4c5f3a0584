#include "prepared.h"

namespace amd_test {
namespace {

constexpr char kGuard = 0x5a;  // what outputs are filled with

}  // namespace

Prepared::Prepared(const Job& job, const Operation& operation, Call call)
    : job_(job), operation_(operation), call_(call) {
  const size_t size = call_.element->bytes, parts = size_t(call_.ranks);
  call_.root = root_of(call_.count, call_.ranks);
  input_.resize(call_.count * (operation_.gives_all ? parts : 1) * size);
  output_.assign(call_.count * (operation_.gets_all ? parts : 1) * size, kGuard);
  const bool fnuz = is_fnuz();
  for (size_t i = 0; i < input_.size() / size; ++i)
    put(*call_.element, input_, i, contribution(call_, call_.rank, i), fnuz);
  for (size_t i = 0; operation_.adds_output && i < output_.size() / size; ++i)
    put(*call_.element, output_, i, bias(call_, i), fnuz);

  require(job_, hipMalloc(&from_, input_.size()), "hipMalloc");
  require(job_, hipMalloc(&to_, output_.size()), "hipMalloc");
  copy(from_, input_.data(), input_.size(), hipMemcpyHostToDevice);
  reset();
  call_.input = from_;
  call_.output = to_;
}

Prepared::~Prepared() {
  require(job_, hipFree(from_), "hipFree");
  require(job_, hipFree(to_), "hipFree");
}

void Prepared::reset() const { copy(to_, output_.data(), output_.size(), hipMemcpyHostToDevice); }

void Prepared::copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) const {
  require(job_, hipMemcpyAsync(to, from, bytes, kind, call_.stream), text() + ": copy");
  synchronize();
}

void Prepared::issue() const { require(job_, operation_.run(call_), text()); }

void Prepared::synchronize() const {
  require(job_, hipStreamSynchronize(call_.stream), text() + ": synchronize");
}

std::string Prepared::text() const {
  return std::string(operation_.name) + " of " + std::to_string(call_.count) + " " +
         call_.element->name + ", op " + std::to_string(int(call_.op)) + ", root " +
         std::to_string(call_.root);
}

void Prepared::check() const {
  std::vector<char> got(output_.size());
  copy(got.data(), to_, got.size(), hipMemcpyDeviceToHost);
  const bool fnuz = is_fnuz();
  const size_t size = call_.element->bytes, elems = got.size() / size;
  std::vector<char> one(size);
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < elems; ++i) {
    const uint64_t value = operation_.wanted(call_, i);
    one.assign(size, kGuard);
    if (value != kUntouched) put(*call_.element, one, 0, value, fnuz);
    if (std::memcmp(one.data(), got.data() + i * size, size) == 0) continue;
    uint64_t bits = 0;
    std::memcpy(&bits, got.data() + i * size, size);
    if (wrong++ == 0)
      first = "element " + std::to_string(i) + " has bits " + std::to_string(bits) + ", wanted " +
              std::to_string(value);
  }
  if (wrong == 0) return;
  give_up(job_.rank, text() + ": " + std::to_string(wrong) + " of " + std::to_string(elems) +
                         " wrong, the first: " + first);
}

}  // namespace amd_test
