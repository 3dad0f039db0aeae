#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fill columns by functions: values, arrays, rows that fail, rows that change."""

import leman
import pyarrow as pa
import pyarrow.compute as pc

db = leman.connect("shop")
reviews = db.create_table(
    "reviews",
    pa.table(
        {
            "id": range(1000),
            "text": [f"review {i}: " + "good " * (i % 4) for i in range(1000)],
            "price": [None if i % 100 == 5 else f"{i}.50" for i in range(1000)],
        }
    ),
)


@leman.udf
def praise(text: str) -> int:
    return text.count("good")


@leman.udf(data_type=pa.int32())
def length(text: pa.Array) -> pa.Array:
    return pc.utf8_length(text)


@leman.udf(on_error=leman.skip_on_error(max_skip_count=50))
def cents(price: str) -> int:
    return int(float(price) * 100)


reviews.add_columns({"praise": praise, "length": length, "cents": cents})
print(cents.test(reviews, row_ids=[4, 5]))

result = reviews.backfill(["praise", "length", "cents"])
print(f"{result.rows_committed} cells in version {result.version}, {result.rows_failed} failed")
assert result.state == "done_failed" and result.rows_failed == 10
assert reviews.cells("cents") == {"pending": 0, "ok": 990, "failed": 10, "stale": 0}

# The rows that failed are mended, and only they are computed again.
print(reviews.errors("cents").to_pylist()[0]["message"])
reviews.update("leman_state('cents') = 'failed'", {"price": "'0.99'"})
assert reviews.backfill("cents").rows_computed == 10
assert reviews.count_rows("cents = 99") == 10

# New rows are filled, finished ones are left alone.
reviews.append({"id": [1000], "text": ["good, good"], "price": ["1"]})
result = reviews.backfill(["praise", "length", "cents"])
assert result.rows_computed == 3
print(reviews.scan(where="id = 1000").to_pylist())
