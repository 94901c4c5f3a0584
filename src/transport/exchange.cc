#include "transport/exchange.h"

namespace weft {

std::vector<std::string> exchange(Bootstrap& bootstrap, const Failure& own,
                                  const std::string& payload) {
  Packer packer;
  packer.value(own.code).text(own.text);
  auto all = bootstrap.all_gather_texts(packer.bytes() + payload);
  if (own.code != ncclSuccess) throw Error(own.code, own.text);
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    Unpacker unpacker(all[rank]);
    const auto code = unpacker.value<ncclResult_t>();
    const std::string text = unpacker.text();
    if (code != ncclSuccess) fail(ncclRemoteError, "rank {}: {}", rank, text);
    all[rank] = std::string(unpacker.rest());
  }
  return all;
}

}  // namespace weft
