"""Rules for the whole test run."""

import os


def pytest_sessionfinish(session):
    """Where ``CI=true`` a skipped test is a failure: nothing may go unchecked there."""
    skipped = session.config.pluginmanager.get_plugin("terminalreporter").stats.get("skipped", [])
    if os.environ.get("CI") == "true" and skipped:
        print(f"\n{len(skipped)} tests were skipped, which CI=true does not allow")
        session.exitstatus = 1
