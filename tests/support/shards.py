# SPDX-License-Identifier: Apache-2.0
"""WebDataset shards for tests."""

import io
import json
import random
import tarfile


def sample(number, size=300):
    """The members of one sample, by extension."""
    random_ = random.Random(number)
    return {
        "jpg": random_.randbytes(random_.randrange(size)),
        "json": json.dumps(
            {"caption": f"caption {number}", "width": number, "tags": ["a"] * (number % 3)}
        ).encode(),
        "cls": str(number % 10).encode(),
    }


def write_shard(path, samples, format=tarfile.PAX_FORMAT):
    """Write (key, members) pairs as a tar archive."""
    with tarfile.open(path, "w", format=format) as archive:
        for key, members in samples:
            for extension, data in members.items():
                info = tarfile.TarInfo(f"{key}.{extension}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


def write_shards(folder, count, rows, **options):
    """`count` shards of `rows` samples each; the samples by key."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = {}
    for shard in range(count):
        numbers = range(shard * rows, (shard + 1) * rows)
        made = [(f"{number:06d}", sample(number)) for number in numbers]
        write_shard(folder / f"{shard:03d}.tar", made, **options)
        samples.update(made)
    return samples
