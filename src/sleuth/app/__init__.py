"""The composition root: settings to engine. The only place that reads the environment and sleuth.toml."""

from sleuth.app.asking import aask as aask
from sleuth.app.asking import ask as ask
from sleuth.app.asking import stream as stream
from sleuth.app.strategies import strategy as strategy
