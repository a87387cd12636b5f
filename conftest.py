"""Rules for the whole test run."""

import os
import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """No test finds a figure that another one left open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_sessionfinish(session):
    """Where ``CI=true`` a skipped test is a failure: nothing may go unchecked there."""
    skipped = session.config.pluginmanager.get_plugin("terminalreporter").stats.get("skipped", [])
    if os.environ.get("CI") == "true" and skipped:
        print(f"\n{len(skipped)} tests were skipped, which CI=true does not allow")
        session.exitstatus = 1
