"""A reader that sees the catalog at one moment."""

from __future__ import annotations

import threading
import time

from tests.catalog.samples import FILES, add_dataset, content

from millstream.catalog.store.open import OpenCatalog


def test_a_version_published_meanwhile_is_not_seen(catalog: OpenCatalog) -> None:
    fx = add_dataset(catalog, "fx")
    catalog.writer.publish(fx.id, content("sha256:1"), FILES)

    def publish() -> None:
        catalog.writer.publish(fx.id, content("sha256:2"), FILES)

    with catalog.reader.at_one_time() as reader:
        first = reader.find_latest_version(fx.id)
        publisher = threading.Thread(target=publish)
        publisher.start()
        time.sleep(0.3)  # PostgreSQL has committed; SQLite waits until the reader is done
        assert reader.find_latest_version(fx.id) == first
        assert len(reader.versions(fx.id)) == 1
    publisher.join()
    latest = catalog.reader.find_latest_version(fx.id)
    assert latest is not None
    assert latest.number == 2
