// A rank's side of the meeting: reach the root, hand in the card, hear the verdict.
// Owns: turning every way this can end into an Error that names the remedy. Does not own: the root
// (root.h). Next on the path: tree.h.
#pragma once

#include "bootstrap/dialler.h"

namespace weft {

struct Meeting {
  std::string label;  // unique_id_label
  uint64_t nonce = 0;
  bool minted = true;  // the id was made by create_unique_id
  DialTarget target;
  Key key;
};

struct CheckedIn {
  Stream root;
  Verdict verdict;  // good
};
// Throws Error with the verdict's code and text, or why the root was not reached.
CheckedIn check_in(const Meeting& meeting, const Card& card, const Wait& wait);

// This rank cannot take part: tells the root so, in the little time that is worth it. Throws
// nothing.
void check_in_failure(const Meeting& meeting, const Card& card, const Error& error) noexcept;

// The hello of a card's rank to `target`.
Hello hello_of(const Card& card, Purpose purpose, uint64_t comm, uint32_t target);

}  // namespace weft
