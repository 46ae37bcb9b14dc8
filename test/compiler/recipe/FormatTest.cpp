// Values in the syntax of the language.

#include "compiler/recipe/Format.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace recipec::recipe {
namespace {

TEST(Format, RealsAreShortAndReadBack) {
  EXPECT_EQ(formatReal(1), "1.0");
  EXPECT_EQ(formatReal(0.1), "0.1");
  EXPECT_EQ(formatReal(500000), "500000.0");
  EXPECT_EQ(formatReal(2e-5), "2e-05");
  EXPECT_EQ(formatReal(989e12), "9.89e+14");
  for (double value : {1.0 / 3, 1e300, 123456.789, -0.007})
    EXPECT_EQ(std::strtod(formatReal(value).c_str(), nullptr), value);
}

TEST(Format, QuantitiesTakeTheirLargestWholeUnit) {
  EXPECT_EQ(formatQuantity({0x1p30 * 80, Unit::bytes}), "80GiB");
  EXPECT_EQ(formatQuantity({0x1p20 * 143771, Unit::bytes}), "143771MiB");
  EXPECT_EQ(formatQuantity({1000, Unit::bytes}), "1000B");
  EXPECT_EQ(formatQuantity({0, Unit::bytes}), "0B");
  EXPECT_EQ(formatQuantity({5400, Unit::seconds}), "90min");
  EXPECT_EQ(formatQuantity({0.25, Unit::seconds}), "250ms");
  EXPECT_EQ(formatQuantity({500, Unit::steps}), "500 steps");
  EXPECT_EQ(formatQuantity({2.5, Unit::epochs}), "2.5 epochs");
}

TEST(Format, QuantitiesKeepTheUnitThatWasWritten) {
  auto written = [](double number, std::string_view name) {
    const UnitName* unit = findUnit(name);
    return formatQuantity({number * unit->scale, unit->unit, unit});
  };
  EXPECT_EQ(written(1.5, "TiB"), "1.5TiB");
  EXPECT_EQ(written(1024, "MiB"), "1024MiB");
  EXPECT_EQ(written(1, "GB"), "1GB");
  EXPECT_EQ(written(0, "GiB"), "0GiB");
  EXPECT_EQ(written(36, "h"), "36h");
  EXPECT_EQ(written(1, "steps"), "1 step");
  EXPECT_EQ(written(2, "epoch"), "2 epochs");
  // A value with many digits is shorter in another unit.
  EXPECT_EQ(written(1.0 / 3, "h"), "20min");
}

TEST(Format, EqualAmountsAreEqualHoweverTheyAreWritten) {
  const UnitName* mebibyte = findUnit("MiB");
  Quantity plain{0x1p30, Unit::bytes};
  EXPECT_EQ(plain, (Quantity{0x1p30, Unit::bytes, mebibyte}));
  EXPECT_NE(plain, (Quantity{0x1p30, Unit::tokens}));
}

TEST(Format, KeysThatAreNoNamesStandInBrackets) {
  EXPECT_EQ(formatKey("hidden_2"), "hidden_2");
  EXPECT_EQ(formatKey("a b"), R"(["a b"])");
  EXPECT_EQ(formatKey("2d"), R"(["2d"])");
  EXPECT_EQ(formatKey("for"), R"(["for"])");
  EXPECT_EQ(formatKey(""), R"([""])");
  EXPECT_EQ(formatValue({Record{"", {{"a.b", {int64_t(1), {}}}}}, {}}, {}),
            R"({ ["a.b"] = 1 })");
}

TEST(Format, StringsAreEscaped) {
  EXPECT_EQ(formatString("a\"b\\c\n\t{x}"), R"("a\"b\\c\n\t\{x}")");
}

TEST(Format, ValuesNest) {
  Value one{int64_t(1), {}};
  Value list{List{one, {None{}, {}}, {Auto{}, {}}}, {}};
  Value record{Record{"lora", {{"rank", one}, {"targets", list}}}, {}};
  EXPECT_EQ(formatValue(record, {}),
            "lora { rank = 1, targets = [1, none, auto] }");
  EXPECT_EQ(formatValue({Record{"mock", {}}, {}}, {}), "mock {}");
  std::vector<Dim> dims = {{"hidden", 4, {}}, {"ffn", 8, {}}};
  Value mapping{DimsMapping{{DimId(0)}, {DimId(1), DimId(0)}}, {}};
  EXPECT_EQ(formatValue(mapping, dims), "hidden -> [ffn, hidden]");
}

TEST(Format, OriginsSayWhereAValueCameFrom) {
  SourceMap sources;
  SourceId file = sources.add("a.recipe", "x = 1\n", SourceKind::file);
  SourceId set = sources.add("--set", "parallel.tp=4", SourceKind::commandLine);
  using Kind = Origin::Kind;
  EXPECT_EQ(formatOrigin({Kind::written, {file, 4, 5}}, sources),
            "a.recipe:1:5");
  EXPECT_EQ(formatOrigin({Kind::derived, {file, 4, 5}}, sources),
            "derived at a.recipe:1:5");
  EXPECT_EQ(formatOrigin({Kind::commandLine, {set, 0, 13}}, sources),
            "--set parallel.tp=4");
  EXPECT_EQ(formatOrigin({Kind::defaultValue, {file, 4, 5}}, sources),
            "default");
}

} // namespace
} // namespace recipec::recipe
