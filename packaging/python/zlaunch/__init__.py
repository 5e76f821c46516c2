"""The Python side of zlaunch, a command: only `python -m zlaunch` is here."""
