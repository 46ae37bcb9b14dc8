// See Conversion.h.

#include "runtime/data/Conversion.h"

#include "runtime/base/Shell.h"

#include <filesystem>
#include <utility>

namespace reciperun::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view linesEnding = ".jsonl";

/// The name of the converted file: `a.jsonl` for `a.csv` and `a.jsonl.gz`,
/// `a.lines.jsonl` for `a.jsonl`.
std::string pathOfLines(const std::string& path) {
  fs::path stem = fs::path(path).replace_extension();
  const bool isPacked = stem.extension() == linesEnding;
  if (isPacked)
    stem.replace_extension();
  const std::string start = stem.string();
  std::string made = start + std::string(linesEnding);
  std::error_code code;
  for (int i = 1; made == path || fs::exists(made, code); ++i)
    made = start + ".lines" + (i > 1 ? std::to_string(i) : "") +
           std::string(linesEnding);
  return made;
}

/// A file format, and a command that writes such a file as lines to standard
/// output.
struct Reader {
  std::string_view format;
  std::string_view verb; // ends with a space
  std::string_view command;
};

constexpr Reader readers[] = {
    {"gzip", "unpack it by ", "gzip -dc"},
    {"Zstandard", "unpack it by ", "zstd -dc"},
    {"xz", "unpack it by ", "xz -dc"},
    {"bzip2", "unpack it by ", "bzip2 -dc"},
    {"Parquet", "write its rows as lines of JSON by ",
     "python3 -c 'import pandas, sys; pandas.read_parquet(sys.argv[1])."
     "to_json(sys.stdout, orient=\"records\", lines=True, "
     "force_ascii=False)'"},
    {"Arrow", "write its rows as lines of JSON by ",
     "python3 -c 'import pandas, sys; pandas.read_feather(sys.argv[1])."
     "to_json(sys.stdout, orient=\"records\", lines=True, "
     "force_ascii=False)'"},
    {"CSV", "write its rows as lines of JSON by ",
     "python3 -c 'import csv, json, sys; [print(json.dumps(row)) for row in "
     "csv.DictReader(open(sys.argv[1], newline=\"\", "
     "encoding=\"utf-8-sig\"))]'"},
    {"CSV with semicolons", "write its rows as lines of JSON by ",
     "python3 -c 'import csv, json, sys; [print(json.dumps(row)) for row in "
     "csv.DictReader(open(sys.argv[1], newline=\"\", encoding=\"utf-8-sig\"), "
     "delimiter=\";\")]'"},
    {"TSV", "write its rows as lines of JSON by ",
     "python3 -c 'import csv, json, sys; [print(json.dumps(row)) for row in "
     "csv.DictReader(open(sys.argv[1], newline=\"\", encoding=\"utf-8-sig\"), "
     "delimiter=\"\\t\")]'"},
    {"Python", "write its dicts as lines of JSON by ",
     "python3 -c 'import ast, json, sys; "
     "[print(json.dumps(ast.literal_eval(line))) for line in "
     "open(sys.argv[1])]'"},
};

} // namespace

std::string linesBy(const std::string& command, const std::string& path) {
  return "`" + command + " " + shellWord(path) + " > " +
         shellWord(pathOfLines(path)) + "`, and name the new file";
}

std::string linesOfFormat(const std::string& path, std::string_view format) {
  for (const Reader& each : readers)
    if (each.format == format)
      return std::string(each.verb) + linesBy(std::string(each.command), path);
  return {};
}

} // namespace reciperun::data
