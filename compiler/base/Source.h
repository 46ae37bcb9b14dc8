// Source text and positions in it.
//
// A SourceMap owns the bytes of every file and of every `--set` argument, which
// is a source like a file. All other code refers to text by SourceRange. A
// SourceRange is twelve bytes, is cheap to copy, and outlives the phase that
// made it.

#ifndef RECIPEC_BASE_SOURCE_H
#define RECIPEC_BASE_SOURCE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recipec {

/// Index of a source in its SourceMap; `none` for values without source text.
enum class SourceId : int32_t { none = -1 };

/// Half-open range of byte offsets [begin, end) in one source.
struct SourceRange {
  SourceId source = SourceId::none;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool isValid() const { return source != SourceId::none; }
  bool operator==(const SourceRange&) const = default;
};

/// The smallest range that covers both. Both must lie in one source.
SourceRange cover(SourceRange first, SourceRange last);

/// One-based line and column (in code points) of a byte offset.
struct LineColumn {
  int line = 1;
  int column = 1;
};

/// The kind of a source. Messages use it to say where a value came from. `data`
/// is an imported YAML or JSON file.
enum class SourceKind { file, data, standardLibrary, commandLine };

class SourceMap {
public:
  SourceMap();
  ~SourceMap();
  SourceMap(const SourceMap&) = delete;
  SourceMap& operator=(const SourceMap&) = delete;

  /// Adds a source and takes ownership of its text. Messages print `name`: the
  /// path as the user wrote it, `std/models/llama.recipe`, or `--set`. Views
  /// returned by name() and text() stay valid when sources are added.
  SourceId add(std::string name, std::string text, SourceKind kind);
  /// Takes over all sources of another map under the same ids. This map must be
  /// empty.
  void adopt(const SourceMap& other);

  std::string_view name(SourceId id) const;
  std::string_view text(SourceId id) const;
  SourceKind kind(SourceId id) const;

  std::string_view text(SourceRange range) const;
  LineColumn lineColumn(SourceId id, uint32_t offset) const;
  /// The text of a one-based line, without its line break.
  std::string_view lineText(SourceId id, int line) const;
  /// Byte offset of the first character of that line, after a byte order mark.
  uint32_t lineBegin(SourceId id, int line) const;
  int lineCount(SourceId id) const;
  /// `sft.recipe:9:22` for a file, the whole argument (`--set parallel.tp=4`)
  /// for the command line, empty for an invalid range.
  std::string describe(SourceRange range) const;

private:
  struct Entry;
  std::vector<std::shared_ptr<const Entry>> entries;
};

} // namespace recipec

#endif // RECIPEC_BASE_SOURCE_H
