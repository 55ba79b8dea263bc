"""A sink that keeps its rows in a list."""


class ListSink:
    """`committed` are those that somebody waited for."""

    def __init__(self) -> None:
        self.rows: list[object] = []
        self.committed: list[object] = []

    async def put(self, row: object) -> None:
        self.rows.append(row)

    async def commit(self, row: object) -> None:
        self.rows.append(row)
        self.committed.append(row)
