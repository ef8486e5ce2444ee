#include <catch2/catch.hpp>

#include "rollout/schedule/page_pool.hpp"

using namespace verlc::rollout;

TEST_CASE("a pool hands out each page once and takes it back") {
  PagePool pool(3);
  const auto a = pool.take();
  const auto b = pool.take();
  const auto c = pool.take();
  REQUIRE((a && b && c));
  REQUIRE((*a != *b && *b != *c && *a != *c));
  REQUIRE_FALSE(pool.take().has_value());
  pool.retain(*b);
  pool.release(*b);
  REQUIRE(pool.num_free() == 0);
  pool.release(*b);
  REQUIRE(pool.take() == b);
}

TEST_CASE("a shared partial page is copied when it is written, a full one is not") {
  PagePool pool(8);
  std::vector<PageCopy> copies;
  PageTable first;
  first.make_writable(pool, 16, 0, 40, copies);
  REQUIRE(first.pages().size() == 3);
  PageTable second;
  second.share(pool, first, 3);
  REQUIRE(pool.num_free() == 5);
  REQUIRE(copies.empty());

  REQUIRE(second.num_missing(pool, 16, 40, 41) == 1);
  second.make_writable(pool, 16, 40, 41, copies);
  REQUIRE(copies.size() == 1);
  REQUIRE(copies[0].from == first.pages()[2]);
  REQUIRE(copies[0].to == second.pages()[2]);
  REQUIRE(second.pages()[0] == first.pages()[0]);

  // The other holder is alone now and writes in place.
  REQUIRE(first.num_missing(pool, 16, 40, 48) == 0);
  first.make_writable(pool, 16, 40, 48, copies);
  REQUIRE(copies.size() == 1);
  first.clear(pool);
  second.clear(pool);
  REQUIRE(pool.num_free() == 8);
}
