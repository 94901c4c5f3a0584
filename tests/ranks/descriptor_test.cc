// Passing a descriptor between processes, by /proc and by socket, and every reason not to.
#include "transport/descriptor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace weft::test {
namespace {

Descriptor make_file(char content) {
  Descriptor file(memfd_create("weft-test", MFD_CLOEXEC));
  EXPECT_TRUE(file);
  EXPECT_EQ(pwrite(file.get(), &content, 1, 0), 1);
  return file;
}

char first_byte(const Descriptor& file) {
  char byte = 0;
  EXPECT_EQ(pread(file.get(), &byte, 1, 0), 1);
  return byte;
}

size_t open_descriptors() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// Runs `body` in a child; true when it returned true there.
template <class Body>
bool in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Descriptor, FetchedByProcFromAnotherProcess) {
  const Descriptor file = make_file('a');
  const DescriptorServer server(file.get());
  DescriptorOffer offer = server.offer();
  offer.secret[0] ^= 1;  // the socket cannot be the way
  EXPECT_TRUE(in_child([&] {
    std::string error;
    const Descriptor fetched = fetch_descriptor(offer, error);
    return fetched && first_byte(fetched) == 'a';
  }));
}

TEST(Descriptor, FetchedBySocketFromAnotherPidNamespace) {
  const Descriptor file = make_file('b');
  const DescriptorServer server(file.get());
  DescriptorOffer offer = server.offer();
  offer.pid_namespace ^= 1;
  EXPECT_TRUE(in_child([&] {
    std::string error;
    const Descriptor fetched = fetch_descriptor(offer, error);
    return fetched && first_byte(fetched) == 'b';
  }));
}

TEST(Descriptor, AReusedNumberIsFoundOut) {
  const Descriptor file = make_file('c'), other = make_file('d');
  const DescriptorServer server(file.get());
  DescriptorOffer offer = server.offer();
  offer.fd = other.get();
  std::string error;
  const Descriptor fetched =
      fetch_descriptor(offer, error);  // by socket, which knows the right one
  ASSERT_TRUE(fetched) << error;
  EXPECT_EQ(first_byte(fetched), 'c');
}

TEST(Descriptor, BothWaysRefusedGivesBothReasons) {
  const Descriptor file = make_file('e');
  DescriptorOffer offer;
  {
    const DescriptorServer server(file.get());
    offer = server.offer();
  }
  offer.pid_namespace ^= 1;
  std::string error;
  EXPECT_FALSE(fetch_descriptor(offer, error));
  EXPECT_NE(error.find("process id namespace"), std::string::npos) << error;
  EXPECT_NE(error.find("Unix socket"), std::string::npos) << error;
}

TEST(Descriptor, NothingStaysOpen) {
  const size_t before = open_descriptors();
  for (int round = 0; round < 100; ++round) {
    const Descriptor file = make_file('f');
    const DescriptorServer server(file.get());
    DescriptorOffer offer = server.offer();
    if (round % 2) offer.pid_namespace ^= 1;
    std::string error;
    EXPECT_TRUE(fetch_descriptor(offer, error)) << error;
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace weft::test
