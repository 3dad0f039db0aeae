# SPDX-License-Identifier: Apache-2.0
"""Feeds for PyTorch."""

import torch

from leman.feed import Feed


def _as_it_is(batch):
    return batch


class _Loader(torch.utils.data.DataLoader):
    """Not between a feed and its user where it has nothing to do, which takes it longer than the
    feed takes for a batch."""

    def __iter__(self):
        if self.num_workers or self.pin_memory or self.collate_fn is not _as_it_is:
            return super().__iter__()
        return iter(self.dataset)


class FeedDataset(torch.utils.data.IterableDataset):
    """A feed as an ``IterableDataset`` of whole batches.

    ``loader()`` makes a DataLoader of it; one that is made otherwise is given batch_size=None.

    Each ``iter()`` gives what is left of one epoch, the next one another. Workers of a DataLoader
    share the batches in turns, so that the loader gives them in the order of the feed, however many
    workers there are.

    In a loop over epochs, call ``set_epoch()`` before each, as with torch's DistributedSampler: a
    loader whose workers do not persist starts each time from what the main process knows.

    ``state_dict()`` and ``load_state_dict()`` work with torchdata's StatefulDataLoader. With any
    other loader, ``state(batches)`` says in the main process where a run is that has used so many
    batches since the last ``set_epoch()`` or ``restore()``; that state continues with any number of
    ranks and workers.
    """

    def __init__(self, feed):
        super().__init__()
        if not isinstance(feed, Feed):
            raise TypeError(f"a Feed is wanted, not {type(feed).__name__}")
        self._feed = feed
        self._base = feed.state()
        self._taken = 0  # batches that this worker has given since the base
        self._workers = 1

    def loader(self, **options):
        """A ``torch.utils.data.DataLoader`` of the batches as the feed gives them.

        options: the loader's own, such as num_workers. Unless there is a collate_fn among them the
        loader does not look into batches, which a plain one does, for each tensor of a list.
        """
        options = {"collate_fn": _as_it_is, **options}
        return _Loader(self, batch_size=None, **options)

    def set_epoch(self, epoch):
        """Start the next ``iter()`` with an epoch, from its beginning."""
        if not self._feed.begins(epoch):  # else it may have read ahead already
            self._feed.seek(epoch)
        self._rebase()

    def restore(self, state):
        """Start the next ``iter()`` where a state of a feed is."""
        self._feed.restore(state)
        self._rebase()

    def _rebase(self):
        self._base = self._feed.state()
        self._taken = 0

    def state(self, batches):
        """The feed's state behind `batches` batches of this rank."""
        feed = self._feed.clone()
        feed.restore(self._base)
        feed.skip(batches)
        return feed.state()

    def _worker_feed(self):
        """The feed of this worker, where the iteration began."""
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        if self._taken and workers != self._workers:
            raise ValueError(
                f"the state was made with {self._workers} workers and is restored with {workers}; "
                "state(batches) gives one that does not depend on them"
            )
        self._workers = workers
        feed = self._feed if info is None else self._feed.clone(worker=worker, workers=workers)
        if info is not None or feed.state() != self._base:
            feed.restore(self._base)
        return feed

    def __iter__(self):
        feed = self._worker_feed()
        epoch = feed.epoch  # before batches are skipped: the same for all workers
        if self._taken:
            feed.skip(self._taken)
        for batch in feed.epoch_batches(epoch):
            self._taken += 1
            yield batch
        # The next iteration is the next epoch: of all workers, whoever got the last batch.
        if self._workers > 1 or not feed.begins(epoch + 1):
            feed.seek(epoch + 1)
        self._base = feed.state()
        self._taken = 0

    def __len__(self):
        return self._feed.steps_per_epoch

    def state_dict(self):
        return {"feed": self._base, "taken": self._taken, "workers": self._workers}

    def load_state_dict(self, state):
        self._base = state["feed"]
        self._taken = state["taken"]
        self._workers = state["workers"]
