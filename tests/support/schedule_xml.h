// Schedules as XML (algorithms/schedule/schedule.h): right ones for any number of gpus, and a way
// to make wrong ones of them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace weft::test {

struct Xml {
  std::string text;
  int step = 0;

  Xml(const char* coll, int gpus, int chunks, int channels, bool out_of_place) {
    text = fmt::format(
        "<algo name=\"t\" proto=\"Simple\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" "
        "coll=\"{}\" inplace=\"1\" outofplace=\"{}\">\n",
        channels, chunks, gpus, coll, int(out_of_place));
  }
  void gpu(int id, int in, int out, int scratch) {
    text += fmt::format("<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", id, in,
                        out, scratch);
  }
  void block(int id, int send, int recv, int channel = 0) {
    text += fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", id, send, recv,
                        channel);
    step = 0;
  }
  // `source` and `target`: a buffer's letter and a chunk.
  void add(const char* type, char source, int from, char target, int to, int after_block = -1,
           int after_step = -1) {
    text += fmt::format(
        "<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" "
        "cnt=\"1\" depid=\"{}\" deps=\"{}\" hasdep=\"0\"/>\n",
        step++, type, source, from, target, to, after_block, after_step);
  }
  void end_block() { text += "</tb>\n"; }
  void end_gpu() { text += "</gpu>\n"; }
  std::string end() { return text + "</algo>\n"; }
};

inline std::string ring_all_reduce(int n) {
  Xml xml("allreduce", n, n, 1, true);
  for (int p = 0; p < n; ++p) {
    xml.gpu(p, n, n, 0);
    xml.block(0, (p + 1) % n, (p + n - 1) % n);
    const auto chunk = [&](int hop) { return (p + 2 * n - hop) % n; };
    xml.add("s", 'i', chunk(0), 'i', chunk(0));
    for (int hop = 1; hop < n - 1; ++hop) xml.add("rrs", 'i', chunk(hop), 'i', chunk(hop));
    xml.add("rrcs", 'i', chunk(n - 1), 'o', chunk(n - 1));
    for (int hop = n; hop < 2 * n - 2; ++hop) xml.add("rcs", 'o', chunk(hop), 'o', chunk(hop));
    xml.add("r", 'o', chunk(2 * n - 2), 'o', chunk(2 * n - 2));
    xml.end_block();
    xml.end_gpu();
  }
  return xml.end();
}

// Each pair of places has a block at both; a last block adds what came and the pairs send it round.
inline std::string all_pairs_all_reduce(int n) {
  Xml xml("allreduce", n, n, 1, true);
  for (int p = 0; p < n; ++p) {
    xml.gpu(p, n, n, n - 1);
    for (int k = 1; k < n; ++k) {
      const int peer = (p + k) % n;
      xml.block(k - 1, peer, peer);
      xml.add("s", 'i', peer, 'i', peer);
      xml.add("r", 's', k - 1, 's', k - 1);
      xml.add("s", 'o', p, 'o', p, n - 1, 2 * (n - 1));  // once the sum stands
      xml.add("r", 'o', peer, 'o', peer);
      xml.end_block();
    }
    xml.block(n - 1, -1, -1);
    xml.add("cpy", 'i', p, 'o', p);
    for (int k = 1; k < n; ++k) {
      xml.add("nop", 'i', 0, 'i', 0, k - 1, 1);
      xml.add("re", 's', k - 1, 'o', p);
    }
    xml.end_block();
    xml.end_gpu();
  }
  return xml.end();
}

inline std::string all_gather(int n) {
  Xml xml("allgather", n, n, 1, false);
  for (int p = 0; p < n; ++p) {
    xml.gpu(p, 1, n, 0);
    for (int k = 1; k < n; ++k) {
      const int to = (p + k) % n, from = (p + n - k) % n;
      xml.block(k - 1, to, from);
      xml.add("s", 'i', 0, 'o', p);
      xml.add("r", 'o', from, 'o', from);
      xml.end_block();
    }
    xml.end_gpu();
  }
  return xml.end();
}

inline std::string all_to_all(int n) {
  Xml xml("alltoall", n, n, 1, true);
  for (int p = 0; p < n; ++p) {
    xml.gpu(p, n, n, 0);
    for (int k = 1; k < n; ++k) {
      const int to = (p + k) % n, from = (p + n - k) % n;
      xml.block(k - 1, to, from);
      xml.add("s", 'i', to, 'o', p);
      if (from == to)
        xml.add("r", 'o', from, 'o', from);
      else  // in place, the chunk that comes from there goes there first
        xml.add("r", 'o', from, 'o', from, n - k - 1, 0);
      xml.end_block();
    }
    xml.block(n - 1, -1, -1);
    xml.add("cpy", 'i', p, 'o', p);
    xml.end_block();
    xml.end_gpu();
  }
  return xml.end();
}

inline std::string reduce_scatter(int n) {
  Xml xml("reducescatter", n, n, 1, true);
  for (int p = 0; p < n; ++p) {
    xml.gpu(p, n, 1, 0);
    xml.block(0, (p + 1) % n, (p + n - 1) % n);
    const auto chunk = [&](int hop) { return (p + 2 * n - 1 - hop) % n; };
    xml.add("s", 'i', chunk(0), 'i', chunk(0));
    for (int hop = 1; hop < n - 1; ++hop) xml.add("rrs", 'i', chunk(hop), 'i', chunk(hop));
    xml.add("rrc", 'i', p, 'o', 0);
    xml.end_block();
    xml.end_gpu();
  }
  return xml.end();
}

// `what` of a right text, the first time it stands there, becomes `by`.
inline std::string changed(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

}  // namespace weft::test
