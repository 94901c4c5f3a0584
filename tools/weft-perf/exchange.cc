// The one-process exchange and the choice among the others. See exchange.h.
#include "exchange.h"

#include <cstring>

#include "failure.h"

namespace weft::perf {
namespace {

class Alone final : public Exchange {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::string> all_gather(const std::string& mine) override { return {mine}; }
};

}  // namespace

std::vector<double> Exchange::all_gather_number(double mine) {
  std::vector<double> numbers;
  for (const std::string& text : all_gather({reinterpret_cast<const char*>(&mine), sizeof(mine)})) {
    double number = 0;
    if (text.size() != sizeof(number)) {
      fail("another process sent {} bytes where a number was expected: are all of one version?",
           text.size());
    }
    std::memcpy(&number, text.data(), sizeof(number));
    numbers.push_back(number);
  }
  return numbers;
}

std::unique_ptr<Exchange> open_exchange(const Place& place, const std::string& pmix_library) {
  switch (place.meeting) {
    case Meeting::kInherited:
      return star_of_sockets(place.rank, place.size, place.sockets);
    case Meeting::kTcp:
      return star_over_tcp(place);
    case Meeting::kPmix:
      return exchange_over_pmix(pmix_library);
    case Meeting::kAlone:
      break;
  }
  return std::make_unique<Alone>();
}

}  // namespace weft::perf
