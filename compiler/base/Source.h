// Source text and places in it.
//
// A SourceMap owns the bytes of every file (and of every `--set` argument,
// which is a source like any other). Everything else refers to text by
// SourceRange, sixteen bytes that can be copied freely and outlive the phase
// that made them.

#ifndef RECIPEC_BASE_SOURCE_H
#define RECIPEC_BASE_SOURCE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recipec {

/// Index of a source in its SourceMap; `none` for values without a text.
enum class SourceId : int32_t { none = -1 };

/// Half-open range of byte offsets [begin, end) in one source.
struct SourceRange {
  SourceId source = SourceId::none;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool isValid() const { return source != SourceId::none; }
  bool operator==(const SourceRange&) const = default;
};

/// The smallest range that covers both; they lie in one source.
SourceRange cover(SourceRange first, SourceRange last);

/// One-based line and column (in code points) of a byte offset.
struct LineColumn {
  int line = 1;
  int column = 1;
};

/// What a source is, so that a message can say where a value came from. `data`
/// is a file that is no recipe: YAML or JSON.
enum class SourceKind { file, data, standardLibrary, commandLine };

class SourceMap {
public:
  SourceMap();
  ~SourceMap();
  SourceMap(const SourceMap&) = delete;
  SourceMap& operator=(const SourceMap&) = delete;

  /// Takes the text; `name` is what messages print: the path as the user wrote
  /// it, `std/models/llama.recipe`, or `--set`. References stay valid.
  SourceId add(std::string name, std::string text, SourceKind kind);
  /// Begins with the sources of another map, under their ids; this one has
  /// none yet.
  void adopt(const SourceMap& other);

  std::string_view name(SourceId id) const;
  std::string_view text(SourceId id) const;
  SourceKind kind(SourceId id) const;

  std::string_view text(SourceRange range) const;
  LineColumn lineColumn(SourceId id, uint32_t offset) const;
  /// The one-based line's text without its newline.
  std::string_view lineText(SourceId id, int line) const;
  /// Byte offset of the first character of that text.
  uint32_t lineBegin(SourceId id, int line) const;
  int lineCount(SourceId id) const;
  /// `sft.recipe:9:22`; the whole argument, `--set parallel.tp=4`, for a place
  /// on the command line; empty for a range that is not valid.
  std::string describe(SourceRange range) const;

private:
  struct Entry;
  std::vector<std::shared_ptr<const Entry>> entries;
};

} // namespace recipec

#endif // RECIPEC_BASE_SOURCE_H
