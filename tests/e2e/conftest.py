from tests.unit.cli.conftest import call

__all__ = ["call"]
