// Options of several subcommands.

#include "compiler/driver/Commands.h"

#include "compiler/diag/Render.h"
#include "runtime/base/Shell.h"
#include "runtime/cli/Options.h"

#include <algorithm>
#include <cctype>

namespace recipec::driver {
namespace {

/// Whether the text is a dotted path, `parallel.tp`.
bool isPath(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.';
  });
}

/// Detects `--set parallel.tp 2` and `--set parallel.tp = 2`, where the value
/// follows as its own argument.
cli::Check checkSet(const cli::Given& given) {
  const bool endsInSign =
      given.value.ends_with('=') &&
      isPath(std::string_view(given.value).substr(0, given.value.size() - 1));
  const bool isApart = isPath(given.value) && given.next.starts_with('=');
  if ((endsInSign && !given.next.empty() &&
       given.next.find(".recipe") == std::string::npos) ||
      isApart) {
    const std::string rest =
        given.next == "=" && isApart ? "=" + given.further : given.next;
    return cli::UsageError{
        "`--set` takes PATH=VALUE as one argument, without spaces",
        "write `--set " + reciperun::shellWord(given.value + rest) + "`"};
  }
  const bool isSplit = isPath(given.value) && !given.next.empty() &&
                       given.next.find(".recipe") == std::string::npos;
  if (!isSplit)
    return std::nullopt;
  return cli::UsageError{
      "`--set` takes PATH=VALUE, and `" + given.value + "` has no value",
      "write `--set " + given.value + "=" + given.next + "`"};
}

} // namespace

cli::Option setOption(Invocation& invocation) {
  return {.name = "--set",
          .valueName = "PATH=VALUE",
          .help = "set a field of the recipe; may be repeated",
          .repeats = true,
          .store = [&invocation](const cli::Given& given) {
            invocation.sets.push_back(given.value);
            return checkSet(given);
          }};
}

cli::Option jsonOption(Invocation& invocation) {
  return cli::flag("--json", "print JSON", invocation.json);
}

cli::Option folderOption(Invocation& invocation) {
  return cli::text("--folder", "DIR",
                   "relative paths of the recipe start in DIR instead of the "
                   "recipe's folder",
                   invocation.folder);
}

cli::Option noFilesOption(Invocation& invocation) {
  return cli::flag("--no-files", "do not look for data, tokenizer and weights",
                   invocation.noFiles);
}

cli::Option maxErrorsOption(Invocation& invocation) {
  return {.name = "--max-errors",
          .valueName = "N",
          .help = "print at most N errors of a file, 50 if not given; `all` "
                  "prints all",
          .store = [&invocation](const cli::Given& given) -> cli::Check {
            auto most = cli::parseNumber<size_t>(given.value);
            if (given.value == "all")
              most = diag::noLimit;
            if (!most || *most == 0)
              return cli::UsageError{
                  "`--max-errors` is a number of at least 1 or `all`, not `" +
                  given.value + "`"};
            invocation.mostErrors = *most;
            return std::nullopt;
          }};
}

} // namespace recipec::driver
