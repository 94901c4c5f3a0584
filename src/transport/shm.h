// Shared host memory: a peer's inbox for this rank is memory of a file without a name (memfd) that
// both processes map and both devices reach. Needs no /dev/shm; the pages are reserved when made,
// so that lack of memory is an error here and no SIGBUS later. Owns: this rank's file and mapping,
// the mappings of the peers' files. Does not own: how a file travels (descriptor.h).
#pragma once

#include <map>
#include <memory>

#include "transport/descriptor.h"
#include "transport/way.h"

namespace weft {

// Bytes of a file, mapped and registered with the current device.
class SharedMapping {
 public:
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept { swap(other); }
  SharedMapping& operator=(SharedMapping&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SharedMapping();

  // Not able to: empty, and `error` says why.
  static SharedMapping map(int fd, size_t offset, size_t bytes, std::string& error);
  char* device_data() const { return device_data_; }

 private:
  void swap(SharedMapping& other) noexcept;
  void* host_ = nullptr;
  char* device_data_ = nullptr;
  size_t bytes_ = 0;
  int device_ = 0;
  bool registered_ = false;
};

class ShmWay : public Way {
 public:
  explicit ShmWay(const LinkContext& context) : context_(context) {}

  LinkKind kind(int) const override { return LinkKind::kShared; }
  void prepare(const std::vector<int>& peers, Refusals& refusals) override;
  std::string offer() const override;
  void* map(int peer, std::string_view offer, std::string& error) override;
  void* inbox(int peer) const override;
  void* outbox(int peer) const override;
  void unmap(int peer) noexcept override { outboxes_.erase(peer); }
  void settle() noexcept override;
  void close(bool confirmed) noexcept override;

 private:
  std::string make_file(size_t bytes);

  const LinkContext context_;
  Descriptor file_;
  std::unique_ptr<DescriptorServer> server_;
  SharedMapping own_;
  std::map<int, size_t> inboxes_;  // peer -> offset in the file
  std::map<int, SharedMapping> outboxes_;
};

}  // namespace weft
