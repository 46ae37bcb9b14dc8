// 1. Find the entry of the class of the top state; while it has undecided
//    tokens, find the entry with one more frame below it.
// 2. A missing entry is computed by reading the candidates (all tokens, or the
//    undecided ones of the entry above) in sorted order. Each token is read
//    from the first byte at which it differs from the previous one.

#include "runtime/grammar/MaskTable.h"

#include "runtime/grammar/Limits.h"

#include <algorithm>
#include <array>
#include <bitset>

namespace reciperun::grammar {
namespace {

/// The key of an entry whose stack ends below its last state.
constexpr int32_t endOfStack = -1;
/// A text such as `]]]]` returns from several rules. Masks that depend on more
/// frames than this are not cached.
constexpr size_t maxCachedFrames = 24;

} // namespace

struct MaskTable::Entry {
  std::vector<uint32_t> mask; // empty when the tokens are in `ids`
  std::vector<int32_t> ids;
  std::vector<int32_t> open; // undecided: positions in sorted()
  Entries below;             // with one more frame

  /// Converts the ids to a mask if that takes less memory.
  void compress(size_t words) {
    if (ids.size() <= words)
      return;
    mask.assign(words, 0);
    for (const int32_t id : ids)
      mask[size_t(id) / 32] |= uint32_t(1) << (id % 32);
    ids.clear();
  }
  size_t byteSize() const {
    return sizeof(Entry) + 4 * (mask.size() + ids.size() + open.size());
  }
  void addTo(std::span<uint32_t> out) const {
    for (size_t i = 0; i < mask.size(); ++i)
      out[i] |= mask[i];
    for (const int32_t id : ids)
      out[size_t(id) / 32] |= uint32_t(1) << (id % 32);
  }
};

/// Reads the candidates, starting with one stack. Keeps the parses after each
/// byte of the current token, so that the next token continues where it
/// differs.
class MaskTable::Walk {
public:
  /// Adds its steps to `steps`.
  Walk(const Automaton& automaton, const Vocabulary& vocabulary, int64_t& steps)
      : automaton(automaton), vocabulary(vocabulary), steps(steps),
        reader(automaton, frames) {}

  /// `states` are those of the stack, from the top; `bottom` is what lies
  /// below.
  Status run(const std::vector<int32_t>& states, FrameId bottom,
             const std::vector<int32_t>* candidates, Entry& entry) {
    FrameId below = bottom;
    for (size_t i = states.size(); i-- > 1;)
      below = frames.push({states[i], below});
    levels.resize(vocabulary.longest() + 1);
    hasLeft.assign(vocabulary.longest() + 1, false);
    first = {states[0], below};
    levels[0].tops = {first};
    findLoop();
    const size_t count =
        candidates ? candidates->size() : vocabulary.sorted().size();
    for (size_t i = 0; i < count; ++i) {
      const int32_t position = candidates ? (*candidates)[i] : int32_t(i);
      RECIPERUN_TRY(read(position, sharedWithLast(position), entry));
      last = position;
    }
    return {};
  }

private:
  /// Finds the bytes that lead from the first state only to itself. Inside a
  /// JSON string these are most bytes of the vocabulary.
  void findLoop() {
    const bool isPlain =
        automaton.calls(first.state).empty() && !automaton.isFinal(first.state);
    if (!isPlain)
      return;
    std::array<int, 256> edges = {};
    for (const Edge& edge : automaton.edges(first.state))
      for (int byte = edge.low; byte <= edge.high; ++byte) {
        ++edges[size_t(byte)];
        loop[size_t(byte)] =
            edge.target == first.state && edges[size_t(byte)] == 1;
      }
  }

  Status readByte(uint8_t byte) {
    const Parses& from = levels[depth];
    Parses& to = levels[depth + 1];
    if (!loop[byte] || from.tops.size() != 1 || from.tops[0] != first)
      return reader.read(from, byte, to);
    to.tops.assign(1, first);
    to.isComplete = to.hasLeft = false;
    return {};
  }

  /// The number of leading bytes that a token shares with the previous one.
  size_t sharedWithLast(int32_t position) const {
    if (last < 0)
      return 0;
    if (position == last + 1)
      return vocabulary.sharedBytes(size_t(position));
    const std::string_view one = tokenAt(last), two = tokenAt(position);
    const size_t most = std::min(one.size(), two.size());
    return size_t(
        std::mismatch(one.begin(), one.begin() + ptrdiff_t(most), two.begin())
            .first -
        one.begin());
  }

  std::string_view tokenAt(int32_t position) const {
    return vocabulary.bytesOf(vocabulary.sorted()[size_t(position)]);
  }

  Status read(int32_t position, size_t shared, Entry& entry) {
    const std::string_view token = tokenAt(position);
    depth = std::min(depth, shared);
    while (depth < token.size() && levels[depth].canGoOn()) {
      const int64_t before = reader.steps();
      RECIPERUN_TRY(readByte(static_cast<uint8_t>(token[depth])));
      steps += reader.steps() - before;
      if (steps > maxMaskSteps)
        return tooManyParses();
      ++depth;
      hasLeft[depth] = hasLeft[depth - 1] || levels[depth].hasLeft;
    }
    const Parses& end = levels[depth];
    if (depth == token.size() &&
        (end.canGoOn() || end.isComplete || end.hasLeft))
      entry.ids.push_back(vocabulary.sorted()[size_t(position)]);
    else if (hasLeft[depth])
      entry.open.push_back(position);
    return {};
  }

  const Automaton& automaton;
  const Vocabulary& vocabulary;
  int64_t& steps;
  Frame first;
  std::bitset<256> loop;
  Frames frames;
  Reader reader;
  std::vector<Parses> levels; // after each byte of the current token
  std::vector<bool> hasLeft;  // at this level or one before
  size_t depth = 0;           // the last valid level
  int32_t last = -1;
};

MaskTable::MaskTable(std::shared_ptr<const Automaton> automaton,
                     std::shared_ptr<const Vocabulary> vocabulary)
    : machine(std::move(automaton)), tokens(std::move(vocabulary)),
      classes(classifyStates(*machine, tokens->longest())) {}

MaskTable::~MaskTable() = default;

Status MaskTable::fill(const Matcher& matcher, std::span<uint32_t> mask) {
  std::fill(mask.begin(), mask.end(), 0);
  const std::lock_guard lock(mutex);
  steps = 0;
  for (const Frame& top : matcher.current().tops) {
    if (bytes > maxCacheBytes) {
      entries.clear();
      bytes = 0;
    }
    RECIPERUN_TRY(fillStack(matcher.stack(), top, mask));
  }
  return {};
}

Status MaskTable::fillStack(const Frames& frames, const Frame& top,
                            std::span<uint32_t> mask) {
  std::vector<int32_t> states;
  Entries* level = &entries;
  const Entry* above = nullptr;
  Frame at = top;
  while (true) {
    const int32_t key = classes.classOf[size_t(at.state)];
    states.push_back(classes.representative[size_t(key)]);
    Expected<Entry*> entry = find(*level, key, states, belowKnown, above);
    RECIPERUN_TRY(entry);
    (*entry)->addTo(mask);
    if ((*entry)->open.empty())
      return {};
    above = *entry;
    level = &(*entry)->below;
    if (at.below < 0)
      break;
    if (states.size() == maxCachedFrames)
      return fillRest(frames, at.below, std::move(states), *above, mask);
    at = frames[at.below];
  }
  Expected<Entry*> entry = find(*level, endOfStack, states, belowRoot, above);
  RECIPERUN_TRY(entry);
  (*entry)->addTo(mask);
  return {};
}

Status MaskTable::fillRest(const Frames& frames, FrameId rest,
                           std::vector<int32_t> states, const Entry& above,
                           std::span<uint32_t> mask) {
  for (; rest >= 0; rest = frames[rest].below)
    states.push_back(frames[rest].state);
  Entry entry;
  RECIPERUN_TRY(Walk(*machine, *tokens, steps)
                    .run(states, belowRoot, &above.open, entry));
  entry.addTo(mask);
  return {};
}

Expected<MaskTable::Entry*> MaskTable::find(Entries& level, int32_t key,
                                            const std::vector<int32_t>& states,
                                            FrameId bottom,
                                            const Entry* above) {
  std::unique_ptr<Entry>& entry = level[key];
  if (entry)
    return entry.get();
  auto made = std::make_unique<Entry>();
  RECIPERUN_TRY(
      Walk(*machine, *tokens, steps)
          .run(states, bottom, above ? &above->open : nullptr, *made));
  made->compress(tokens->words());
  bytes += made->byteSize();
  entry = std::move(made);
  return entry.get();
}

size_t MaskTable::cachedBytes() const {
  const std::lock_guard lock(mutex);
  return bytes;
}

} // namespace reciperun::grammar
