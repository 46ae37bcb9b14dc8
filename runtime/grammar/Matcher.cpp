// Reads bytes into the current ways; frames that no way uses are dropped when
// they have doubled.

#include "runtime/grammar/Matcher.h"

namespace reciperun::grammar {
namespace {

constexpr size_t fewFrames = 1024;

/// Copies a stack from one store to another.
FrameId copyStack(const Frames& from, FrameId id, Frames& to,
                  std::unordered_map<FrameId, FrameId>& copies) {
  std::vector<FrameId> path;
  while (id >= 0 && !copies.contains(id)) {
    path.push_back(id);
    id = from[id].below;
  }
  FrameId below = id >= 0 ? copies[id] : id;
  for (; !path.empty(); path.pop_back()) {
    below = to.push({from[path.back()].state, below});
    copies[path.back()] = below;
  }
  return below;
}

} // namespace

Matcher::Matcher(std::shared_ptr<const Automaton> automaton)
    : automaton(std::move(automaton)) {
  parses = Reader(*this->automaton, frames).start();
}

Status Matcher::acceptBytes(std::string_view bytes) {
  Reader reader(*automaton, frames);
  Parses at = parses, next;
  for (size_t i = 0; i < bytes.size(); ++i) {
    RECIPERUN_TRY(reader.read(at, static_cast<uint8_t>(bytes[i]), next));
    if (!next.canGoOn() && !next.isComplete)
      return Status::error("`" + std::string(bytes) +
                           "` does not continue the text from its byte " +
                           std::to_string(i + 1) + " on");
    std::swap(at, next);
  }
  parses = std::move(at);
  if (frames.size() > fewFrames + 2 * usedFrames)
    dropUnusedFrames();
  return {};
}

void Matcher::dropUnusedFrames() {
  Frames kept;
  std::unordered_map<FrameId, FrameId> copies;
  for (Frame& top : parses.tops)
    top.below = copyStack(frames, top.below, kept, copies);
  frames = std::move(kept);
  usedFrames = frames.size();
}

} // namespace reciperun::grammar
