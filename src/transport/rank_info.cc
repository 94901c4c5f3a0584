#include "transport/rank_info.h"

#include <hip/hip_runtime.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "device_scope.h"
#include "hip_check.h"

namespace weft {
namespace {

// FNV-1a, with a byte between parts so that ("ab", "c") and ("a", "bc") differ.
class Hash {
 public:
  Hash& add(std::string_view bytes) {
    for (const char c : bytes) step(static_cast<unsigned char>(c));
    step(0xff);
    return *this;
  }
  Hash& add(uint64_t value) { return add({reinterpret_cast<const char*>(&value), sizeof value}); }
  uint64_t value() const { return value_; }

 private:
  void step(unsigned char c) { value_ = (value_ ^ c) * 0x100000001b3u; }
  uint64_t value_ = 0xcbf29ce484222325u;
};

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Field 22 of /proc/self/stat. The second field is the program's name in brackets and may hold
// anything.
std::string start_time() {
  const std::string line = first_line("/proc/self/stat");
  constexpr int kFieldsAfterName = 20;
  size_t at = line.rfind(')');
  for (int i = 0; i < kFieldsAfterName && at != std::string::npos; ++i) at = line.find(' ', at + 1);
  if (at == std::string::npos) return "";
  return line.substr(at + 1, line.find(' ', at + 1) - at - 1);
}

template <size_t N>
void copy_text(char (&to)[N], std::string_view from) {
  const size_t n = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), n);
  std::memset(to + n, 0, N - n);
}

void ask_device(RankInfo& info) {
  info.device = current_device();
  char bus[32] = "";
  hip_check(hipDeviceGetPCIBusId(bus, sizeof bus, info.device),
            "asking for the bus id of device {}", info.device);
  info.bus_id = pack_bus_id(bus);
  hipUUID uuid = {};
  static_assert(sizeof uuid == sizeof info.uuid);
  if (hipDeviceGetUuid(&uuid, info.device) == hipSuccess) {
    std::memcpy(info.uuid, &uuid, sizeof uuid);
  } else {
    (void)hipGetLastError();  // all zero: not known
  }
  hipDeviceProp_t properties = {};
  hip_check(hipGetDeviceProperties(&properties, info.device),
            "asking for the properties of device {}", info.device);
  const std::string_view arch = properties.gcnArchName;
  copy_text(info.arch, arch.substr(0, arch.find(':')));
}

bool same_device(const RankInfo& a, const RankInfo& b) {
  // Partitions of one board share the bus id or the UUID, never both.
  return a.host_hash == b.host_hash && a.bus_id == b.bus_id &&
         std::memcmp(a.uuid, b.uuid, sizeof a.uuid) == 0;
}

std::string uuid_text(const RankInfo& info) {
  std::string text;
  for (const uint8_t byte : info.uuid) text += fmt::format("{:02x}", byte);
  return text;
}

std::string device_table(const std::vector<RankInfo>& ranks, uint64_t host) {
  std::string table = fmt::format("\n{:>6}  {:<20} {:>8} {:>6}  {:<12} {:<32}  {}", "rank", "host",
                                  "pid", "device", "bus id", "UUID", "visible devices");
  for (const RankInfo& r : ranks) {
    if (r.host_hash != host) continue;
    table +=
        fmt::format("\n{:>6}  {:<20} {:>8} {:>6}  {:<12} {:<32}  {}", r.rank, r.host_name, r.pid,
                    r.device, bus_id_text(r.bus_id), uuid_text(r), r.visible[0] ? r.visible : "-");
  }
  return table;
}

}  // namespace

uint64_t host_hash(std::string_view host_id, std::string_view boot_id, std::string_view host_name) {
  if (!host_id.empty()) return Hash().add("host id").add(host_id).value();
  if (!boot_id.empty()) return Hash().add("boot id").add(boot_id).value();
  return Hash().add("host name").add(host_name).value();
}

uint64_t process_hash(int64_t pid, uint64_t pid_namespace, std::string_view start_time) {
  return Hash().add(static_cast<uint64_t>(pid)).add(pid_namespace).add(start_time).value();
}

uint64_t pid_namespace() {
  struct stat status = {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

RankInfo make_rank_info(const RankSelf& self) {
  RankInfo info = {};
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  copy_text(info.host_name, name);
  const std::string boot_id = first_line("/proc/sys/kernel/random/boot_id");
  info.host_hash = host_hash(self.host_id, boot_id, name);
  info.pid = getpid();
  // Two kernels may give out the same numbers, so the boot goes in too.
  info.process_hash =
      Hash().add(process_hash(info.pid, pid_namespace(), start_time())).add(boot_id).value();
  info.rank = self.rank;
  info.wire_version = self.wire_version;
  info.library_version = self.library_version;
  info.config_hash = self.config_hash;
  copy_text(info.visible, self.visible);
  ask_device(info);
  return info;
}

int64_t pack_bus_id(std::string_view text) {
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits),
                       [](char c) { return c != ':' && c != '.'; });
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
    fail(ncclInternalError, "\"{}\" is not a PCI bus id", text);
  return value;
}

std::string bus_id_text(int64_t bus_id) {
  const auto packed = static_cast<uint64_t>(bus_id);
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", packed >> 20, (packed >> 12) & 0xff,
                     (packed >> 4) & 0xff, packed & 0xf);
}

int ranks_on_device(const std::vector<RankInfo>& ranks, int rank) {
  return int(std::ranges::count_if(
      ranks, [&](const RankInfo& other) { return same_device(other, ranks[size_t(rank)]); }));
}

std::string find_duplicate_device(const std::vector<RankInfo>& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t j = i + 1; j < ranks.size(); ++j) {
      if (!same_device(ranks[i], ranks[j])) continue;
      return fmt::format(
          "Duplicate GPU detected : rank {} and rank {} both on CUDA device {:x}. Give each rank "
          "of a host its own device: "
          "call hipSetDevice(local rank) before init, or let the launcher show each process one "
          "device.{}",
          ranks[i].rank, ranks[j].rank, ranks[i].bus_id, device_table(ranks, ranks[i].host_hash));
    }
  }
  return "";
}

}  // namespace weft
