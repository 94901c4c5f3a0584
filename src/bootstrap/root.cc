// The root service's loop: meeting (ranks check in), forming (they build the tree and may still
// report trouble), or failed (every rank, also a late one, gets the same bad verdict).
#include "bootstrap/root.h"

#include "bootstrap/tree_shape.h"
#include "log.h"

namespace weft {
namespace {

constexpr uint32_t kMaxRanks = 1u << 20;
// Room for every rank of a large job to be half-way through its handshake at once; beyond, the
// oldest dials again.
constexpr size_t kMaxPending = 1024;
// An id nobody has used yet: a job may load data for long before its first communicator.
constexpr milliseconds kUnusedLimit{std::chrono::hours(24)};
// How long a failed meeting keeps answering late ranks, so that they learn why instead of meeting
// silence.
constexpr milliseconds kAfterlife{10'000};

AcceptorHandshake::Self acceptor_self(const RootService::Options& options) {
  return {options.key, options.comm, Purpose::kCheckIn, kRootTarget, NCCL_VERSION_CODE};
}

}  // namespace

std::string rank_list_text(const std::vector<uint32_t>& sorted) {
  std::string text;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) end++;
    if (!text.empty()) text += ", ";
    text += end - i == 1 ? fmt::format("{}", sorted[i])
                         : fmt::format("{}-{}", sorted[i], sorted[end - 1]);
    i = end;
  }
  return text;
}

RootService::RootService(Options options)
    : options_(std::move(options)),
      acceptor_(std::move(options_.listeners), acceptor_self(options_), kMaxPending),
      deadline_(Clock::now() + std::max(kUnusedLimit, options_.timeout)),
      next_progress_(Clock::time_point::max()),
      thread_("weft-root", [this] { run(); }) {}

RootService::~RootService() {
  stop_ = true;
  wake_.wake();
  thread_.join();
}

std::string RootService::outcome() const {
  std::lock_guard lock(outcome_mutex_);
  return outcome_;
}

void RootService::run() {
  try {
    while (!stop_ && !finished()) poll_once();
  } catch (const std::exception& error) {  // out of memory; the members see their connections end
    log_warn("Bootstrap: the root service of {} ends: {}", options_.label, error.what());
  }
  acceptor_.close();
  members_.clear();
  turned_away_.clear();
  closed_ = true;
  ended_ = true;
}

bool RootService::finished() const {
  if (phase_ == Phase::kMeeting) return Clock::now() >= deadline_ && nranks_ == 0;
  if (phase_ == Phase::kForming) return members_.empty();
  return Clock::now() >= deadline_;
}

Clock::time_point RootService::next_look() const {
  return std::min({deadline_, next_progress_, acceptor_.next_deadline()});
}

void RootService::poll_once() {
  std::vector<pollfd> set{{wake_.fd(), POLLIN, 0}};
  std::vector<Member*> polled;
  for (auto& [rank, member] : members_) polled.push_back(&member);
  for (auto& member : turned_away_) polled.push_back(&member);
  for (const Member* member : polled) {
    const auto events =
        static_cast<short>(member->stream.wants_write() ? POLLIN | POLLOUT : POLLIN);
    set.push_back({member->stream.poll_fd(), events, 0});
  }
  const size_t acceptor_at = set.size();
  acceptor_.fill_poll(set);
  if (::poll(set.data(), set.size(), poll_timeout_ms(next_look())) < 0)
    return;  // EINTR, ENOMEM: again
  if (set[0].revents) wake_.drain();
  for (size_t i = 0; i < polled.size(); i++)
    if (set[i + 1].revents) serve(*polled[i]);
  std::erase_if(members_, [](const auto& entry) { return !entry.second.stream.fd(); });
  std::erase_if(turned_away_, [](const Member& member) { return !member.stream.fd(); });
  auto arrivals = acceptor_.progress(std::span(set).subspan(acceptor_at));
  for (auto& arrival : arrivals.accepted) on_accepted(arrival);
  for (auto& arrival : arrivals.other_versions) on_other_version(arrival.hello);
  on_time();
}

void RootService::on_time() {
  const auto now = Clock::now();
  if (phase_ == Phase::kMeeting && nranks_ > 0 && now >= deadline_)
    return give_up(ncclSystemError, fmt::format("the init of {} did not complete in time: {}",
                                                options_.label, missing_text()));
  if (phase_ == Phase::kForming && now >= deadline_)
    return give_up(
        ncclSystemError,
        fmt::format(
            "the init of {} did not complete in time: all ranks had checked in, but not all "
            "reached each other",
            options_.label));
  if (now >= next_progress_) report_progress();
}

void RootService::on_accepted(Acceptor::Accepted& arrival) {
  const auto check_in = CheckIn::parse(arrival.first.payload);
  if (arrival.first.type != FrameType::kCheckIn || !check_in ||
      check_in->card.rank != arrival.hello.rank)
    return;
  if (check_in->card.nranks == 0 || check_in->card.nranks > kMaxRanks) return;
  if (phase_ == Phase::kFailed) {
    turned_away_.push_back({std::move(arrival.stream), check_in->card, true});
    return tell(turned_away_.back(), FrameType::kVerdict, bad_verdict_.encode());
  }
  admit(std::move(arrival.stream), *check_in);
}

std::string RootService::contradiction(const Card& card) const {
  if (card.rank >= card.nranks)
    return fmt::format("{} is not a rank of {}", card.text(), card.nranks);
  if (members_.empty()) return "";
  if (nranks_ != card.nranks) {
    const Card& first = members_.begin()->second.card;
    return fmt::format("ranks disagree about their number: {} says {}, {} says {}", first.text(),
                       first.nranks, card.text(), card.nranks);
  }
  if (const auto same = members_.find(card.rank); same != members_.end())
    return fmt::format("two processes or threads are rank {} of the same unique id: {} and {}",
                       card.rank, same->second.card.text(), card.text());
  return "";
}

void RootService::admit(Stream stream, const CheckIn& check_in) {
  const Card& card = check_in.card;
  const auto now = Clock::now();
  if (nranks_ == 0) {
    nranks_ = card.nranks;
    ensure_descriptors(nranks_ + kMaxPending / 8);
    deadline_ = now + options_.timeout;
    next_progress_ = now + options_.progress_interval;
  }
  // Whoever has least patience decides, so that all hear the same verdict while all still listen.
  deadline_ =
      std::min(deadline_,
               now + milliseconds(std::min<uint64_t>(check_in.wait_ms, options_.timeout.count())));
  const std::string wrong = contradiction(card);
  Member member{std::move(stream), card, false};
  if (!wrong.empty() || check_in.code) {
    turned_away_.push_back(std::move(member));
    if (!wrong.empty()) return give_up(ncclInvalidUsage, wrong);
    return give_up(ncclRemoteError, fmt::format("{}: {}", card.text(), check_in.reason));
  }
  log_info(Subsystem::kBootstrap, "Bootstrap: {} of {} checked in", card.text(), nranks_);
  members_.emplace(card.rank, std::move(member));
  if (members_.size() == nranks_) all_met();
}

void RootService::on_other_version(const Hello& hello) {
  if (phase_ == Phase::kFailed) return;
  give_up(
      ncclInvalidUsage,
      fmt::format("rank {} speaks {}, the root of {} speaks {}: all ranks need the same library",
                  hello.rank, version_text({hello.version, hello.library}), options_.label,
                  version_text({kWireVersion, NCCL_VERSION_CODE})));
}

void RootService::all_met() {
  phase_ = Phase::kForming;
  next_progress_ = Clock::time_point::max();
  // The tree gets as long again as the meeting could have taken; its ranks have their own
  // deadlines.
  deadline_ = Clock::now() + options_.timeout;
  acceptor_.close();
  {
    std::lock_guard lock(outcome_mutex_);
    outcome_ = "it has been used: a unique id serves one init";
  }
  closed_ = true;
  for (auto& [rank, member] : members_) {
    Verdict verdict;
    const int parent = tree_shape(static_cast<int>(rank), static_cast<int>(nranks_)).parent;
    if (parent >= 0) verdict.parent = members_.at(static_cast<uint32_t>(parent)).card;
    tell(member, FrameType::kVerdict, verdict.encode());
  }
}

void RootService::serve(Member& member) {
  if (!member.stream.flush()) return lost(member, member.stream.error_text());
  Frame frame;
  for (;;) {
    const auto result = member.stream.read(frame);
    if (result == Stream::Read::kNothing) return;
    if (result == Stream::Read::kEnded) return lost(member, "connection closed");
    if (result == Stream::Read::kBroken) return lost(member, member.stream.error_text());
    const auto notice = Notice::parse(frame.payload);
    if (frame.type == FrameType::kNotice && notice) on_notice(member, *notice);
    if (!member.stream.fd()) return;
  }
}

void RootService::on_notice(Member& member, const Notice& notice) {
  const bool was_leaving = std::exchange(member.leaving, true);
  if (notice.code == ncclSuccess) return member.stream.close();
  if (was_leaving || phase_ == Phase::kFailed) return;
  give_up(ncclRemoteError, notice.text);
}

void RootService::lost(Member& member, const std::string& why) {
  member.stream.close();
  if (std::exchange(member.leaving, true) || phase_ == Phase::kFailed) return;
  give_up(ncclRemoteError, fmt::format("{} ended during init ({})", member.card.text(), why));
}

void RootService::give_up(ncclResult_t code, const std::string& text) {
  const bool forming = phase_ == Phase::kForming;
  phase_ = Phase::kFailed;
  next_progress_ = Clock::time_point::max();
  deadline_ = Clock::now() + kAfterlife;
  bad_verdict_ = {code, text, std::nullopt};
  log_info(Subsystem::kBootstrap, "Bootstrap: {}", text);
  {
    std::lock_guard lock(outcome_mutex_);
    outcome_ = "its init failed: " + text;
  }
  const Bytes verdict = bad_verdict_.encode(), notice = Notice{0, code, text, false}.encode();
  auto tell_one = [&](Member& member) {
    if (!member.stream.fd() || member.leaving) return;
    member.leaving = true;
    tell(member, forming ? FrameType::kNotice : FrameType::kVerdict,
         forming ? ByteSpan(notice) : ByteSpan(verdict));
  };
  for (auto& [rank, member] : members_) tell_one(member);
  for (auto& member : turned_away_) tell_one(member);
}

void RootService::tell(Member& member, FrameType type, ByteSpan payload) {
  member.stream.queue(type, payload);
  // A broken connection shows when it is polled.
  member.stream.flush();
}

std::string RootService::missing_text() const {
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < nranks_; rank++)
    if (!members_.contains(rank)) missing.push_back(rank);
  return fmt::format("{} of {} ranks have not checked in: {} {}", missing.size(), nranks_,
                     missing.size() == 1 ? "rank" : "ranks", rank_list_text(missing));
}

void RootService::report_progress() {
  next_progress_ = Clock::now() + options_.progress_interval;
  const std::string text = missing_text();
  log_info(Subsystem::kInit, "Bootstrap: waiting, {}", text);
  Writer out;
  out.text(text);
  for (auto& [rank, member] : members_) tell(member, FrameType::kProgress, out.bytes());
}

}  // namespace weft
