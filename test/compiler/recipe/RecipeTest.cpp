// Lookup by path in an evaluated recipe.

#include "compiler/recipe/Recipe.h"

#include <gtest/gtest.h>

namespace recipec::recipe {
namespace {

Recipe sample() {
  Record parallel{"parallel", {{"tp", {int64_t(4), {}}}}};
  Record train{"train",
               {{"steps", {Quantity{50, Unit::steps}, {}}},
                {"dir", {std::string("runs/x"), {}}},
                {"epochs", {2.5, {}}}}};
  Recipe recipe;
  recipe.settings.data = Record{"recipe",
                                {{"parallel", {parallel, {}}},
                                 {"train", {train, {}}},
                                 {"pack", {true, {}}},
                                 {"width", {DimValue{DimId(0)}, {}}},
                                 {"weights", {None{}, {}}}}};
  recipe.model.dims.push_back({"hidden", 64, {}});
  return recipe;
}

TEST(Recipe, FindsByPath) {
  Recipe recipe = sample();
  EXPECT_EQ(recipe.integer("parallel.tp"), 4);
  EXPECT_EQ(recipe.string("train.dir"), "runs/x");
  EXPECT_TRUE(recipe.boolean("pack"));
  EXPECT_TRUE(recipe.at("weights").isNone());
  EXPECT_EQ(recipe.record("parallel").schema, "parallel");
}

TEST(Recipe, NumbersConvert) {
  Recipe recipe = sample();
  EXPECT_EQ(recipe.real("parallel.tp"), 4.0);
  EXPECT_EQ(recipe.real("train.epochs"), 2.5);
  EXPECT_EQ(recipe.count("train.steps"), 50);
  EXPECT_EQ(recipe.count("parallel.tp"), 4);
  EXPECT_EQ(recipe.count("width"), 64);
}

TEST(Recipe, WhatIsNotThereIsNotFound) {
  Recipe recipe = sample();
  EXPECT_EQ(recipe.find("parallel.pp"), nullptr);
  EXPECT_EQ(recipe.find("parallel.tp.more"), nullptr);
  EXPECT_EQ(recipe.find("nothing"), nullptr);
}

TEST(Call, FindsItsAttributes) {
  Call call;
  call.attributes.push_back({"eps", {1e-5, {}}});
  ASSERT_NE(call.find("eps"), nullptr);
  EXPECT_EQ(call.find("theta"), nullptr);
}

} // namespace
} // namespace recipec::recipe
