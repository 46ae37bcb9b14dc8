// Ends a text before or after the first stop string.
//
// The text arrives in pieces, and a stop string may span several of them. The
// end of the text is held back while it may be the beginning of a stop string.
// The text ends at the stop string that is complete first; if several are
// complete at the same character, at the longest. The result therefore does not
// depend on how the text is cut into pieces.

#ifndef RECIPERUN_SERVE_SAMPLING_STOPSTRINGS_H
#define RECIPERUN_SERVE_SAMPLING_STOPSTRINGS_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::serve {

class StopStrings {
public:
  /// None of `stops` is empty. `keepsStop`: the text ends with the stop string.
  explicit StopStrings(std::vector<std::string> stops, bool keepsStop = false)
      : stops(std::move(stops)), keepsStop(keepsStop) {}

  /// Appends a piece and returns the text that can be emitted: without the stop
  /// string (unless it is kept), the text after it, and the text that is held
  /// back. If `isOpen` is false, no stop string may end in this piece, but one
  /// may begin in it. Empty after the text has ended.
  std::string next(std::string_view piece, bool isOpen = true);
  /// The text that is held back. Call it at the end of the text.
  std::string finish();

  /// The index of the stop string that ended the text; nullopt before.
  std::optional<size_t> match() const { return found; }

private:
  /// Where a stop string lies in `held`.
  struct Place {
    size_t begin, end;
    size_t index; // of the stop string
  };
  std::optional<Place> findFirst() const;
  size_t bytesToHold() const;

  std::vector<std::string> stops;
  bool keepsStop;
  std::string held;       // not emitted yet
  size_t closedBytes = 0; // the first bytes of `held`: no stop ends here
  std::optional<size_t> found;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_STOPSTRINGS_H
