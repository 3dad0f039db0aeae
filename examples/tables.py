# SPDX-License-Identifier: Apache-2.0
"""Make a table of captions and embeddings, change it in several ways, and go back in time."""

import random

import leman
import pyarrow as pa

ROWS, DIMENSION = 1000, 32
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("caption", pa.string()),
        ("embedding", pa.list_(pa.float32(), DIMENSION)),
    ]
)


def batches(first, count):
    """Rows as they may come from elsewhere: batch by batch, never all at once."""
    rng = random.Random(first)
    for start in range(first, first + count, 100):
        yield pa.RecordBatch.from_pylist(
            [
                {
                    "id": i,
                    "caption": f"picture {i}" if i % 10 else None,
                    "embedding": [rng.gauss(0, 1) for _ in range(DIMENSION)],
                }
                for i in range(start, start + 100)
            ],
            SCHEMA,
        )


def main():
    db = leman.connect("gallery")
    db.drop_table("pictures", ignore_missing=True)
    table = db.create_table("pictures", batches(0, ROWS), schema=SCHEMA, primary_key="id")
    print(f"made {table}")

    table.append(batches(ROWS, 200))
    table.tags.create("imported")
    unnamed = table.count_rows("caption is null")
    table.update("caption is null", values={"caption": "untitled"})
    print(f"named {unnamed} pictures of {len(table)}")

    result = table.upsert([{"id": 7, "caption": "a cat"}, {"id": 5000, "caption": "new"}])
    print(f"upsert: {result.updated} updated, {result.inserted} inserted")
    assert table.scan(["caption"], where="id = 7").to_pylist() == [{"caption": "a cat"}]

    table.add_columns({"even": "id % 2 = 0"})
    deleted = table.delete("even")
    print(f"deleted {deleted} rows, {len(table)} are left")

    before = db.open_table("pictures", "imported")
    assert len(before) == ROWS + 200 and before.schema.equals(SCHEMA)
    table.compact()
    for item in table.versions():
        print(f"  version {item['version']}: {item['operation']}, {item['num_rows']} rows")


if __name__ == "__main__":
    main()
